#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# Makes the site of the documentation in build/docs_site, from what tools/setup.sh --docs installs. Links
# that lead nowhere are errors.
set -euo pipefail
(($# == 0)) || { echo "tools/docs_site.sh: has no options: $*" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[[ -x build/deps/docs/bin/mkdocs ]] || tools/setup.sh --docs
# The pages, and what they link to, in folders as in the repository.
pages=build/docs_pages
rm -rf "$pages"
for file in README.md CONTRIBUTING.md CHANGELOG.md docs \
  $(grep -ohP '\]\((\.\./)?\K(packaging|results|shapes|tests|tools)/[^)#]+' ./*.md docs/*.md | sort -u); do
  [[ -e $file ]] || continue # mkdocs names the page
  mkdir -p "$(dirname "$pages/$file")"
  ln -s "$PWD/$file" "$pages/$file"
done
NO_MKDOCS_2_WARNING=1 build/deps/docs/bin/mkdocs build --strict
echo "build/docs_site/index.html"
