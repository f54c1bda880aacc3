# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Times the op Sign of ONNX Runtime on integers of 64 bits."""
import time

import numpy
import onnx
import onnxruntime
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info

shape = [4, 64, 64, 64]
x, y = (make_tensor_value_info(name, onnx.TensorProto.INT64, shape) for name in "xy")
graph = make_graph([make_node("Sign", ["x"], ["y"])], "sign", [x], [y])
model = make_model(graph, opset_imports=[make_opsetid("", 13)], ir_version=8)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(model.SerializeToString(), options)
values = {"x": numpy.random.randint(-9, 9, shape)}
seconds = []
for _ in range(300):
    start = time.perf_counter()
    session.run(None, values)
    seconds.append(time.perf_counter() - start)
print("Sign", 1e3 * min(seconds), "ms")
