#!/bin/sh
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# The programs are those on PATH: install layerbench first.
command -v bench_model && command -v layerbench
echo $? >~/install-exit-status
cat >run.sh <<'SCRIPT'
#!/bin/sh
{
  bench_model "$@" --benchmark_out=result.json &&
    layerbench predict result.json --format=json >prediction.json &&
    awk '/"seconds_per_step"/ { printf "predicted step: %.4f ms\n", 1000 * $2; exit }' prediction.json
} >"$LOG_FILE" 2>&1
echo $? >~/test-exit-status
SCRIPT
chmod +x run.sh
