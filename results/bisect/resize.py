# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Times the ops of a model of Resize and Ceil in ONNX Runtime by its profile; prints CSV."""
import json
import os
import tempfile

import numpy
import onnx
import onnxruntime
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info

doubled = onnx.numpy_helper.from_array(numpy.array([1, 1, 2, 2], numpy.float32), "doubled")
nodes = [make_node("Resize", ["x", "", "doubled"], ["a"], name="Resize", mode="nearest"),
         make_node("Resize", ["a", "", "doubled"], ["b"], name="Resize_1", mode="nearest"),
         make_node("Ceil", ["b"], ["y"], name="Ceil")]
x, y = (make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 8, size, size])
        for name, size in (("x", 64), ("y", 256)))
model = make_model(make_graph(nodes, "resize", [x], [y], [doubled]),
                   opset_imports=[make_opsetid("", 13)], ir_version=8)
with tempfile.TemporaryDirectory() as folder:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.enable_profiling = True
    options.profile_file_prefix = os.path.join(folder, "profile")
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    values = {"x": numpy.random.standard_normal([1, 8, 64, 64]).astype(numpy.float32)}
    for _ in range(300):
        session.run(None, values)
    with open(session.end_profiling(), encoding="utf-8") as file:
        events = json.load(file)
times = {}
for event in events:
    if event["name"].endswith("_kernel_time"):
        times.setdefault(event["name"].removesuffix("_kernel_time"), []).append(event["dur"])
print("node,ms")
for name, microseconds in times.items():
    print(f"{name},{min(microseconds) / 1e3}")
