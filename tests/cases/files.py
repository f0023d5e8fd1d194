"""Control flow, functions, and how weights are kept."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, parser

from tests.api.builders import build
from tests.cases.trap import Made, counting, floats, trap


@trap("microsoft/onnxruntime#729", "tracel-ai/burn#4119")
def if_outer_initializer() -> Made:
    """A branch uses an initializer and a computed value of the outer graph."""
    model = build(
        "(float[2,2] x) => (float[a,b] y)",
        "square = Mul (x, x) total = ReduceSum <keepdims = 0> (x) c = Greater (total, five)"
        "y = If (c) <"
        " then_branch = then () => (float[2,2] t) { t = Add (square, w) },"
        " else_branch = otherwise () => (float[2,2] e) { e = Sub (square, w) }>",
        w=floats(10, 20),
        five=np.array(5, np.float32),
    )
    return model, {"x": counting(2, 2)}, [floats([10, 21], [14, 29])]


@trap("onnx/onnx#2082")
def loop_carried_and_scan() -> Made:
    """A carried value is that of the last iteration; scan outputs stack."""
    model = build(
        "(float[2] start, float[2] step) => (float[a] last, float[b,c] rows)",
        "last, rows = Loop (count, go, start) <body ="
        " body (int64 i, bool keep, float[2] sum) => (bool going, float[2] next, float[2] row)"
        " { next = Add (sum, step) going = Identity (keep) row = Mul (next, next) }>",
        count=np.array(3),
        go=np.array(True),
    )
    inputs = {"start": floats(1, 2), "step": floats(10, 100)}
    rows = floats([11, 102], [21, 202], [31, 302]) ** 2
    return model, inputs, [floats(31, 302), rows]


@trap("onnx/onnx#1449", "onnx/onnx#2114")
def initializer_is_default_input() -> Made:
    """An initializer that is a graph input too is a default: nothing is fed for it."""
    model = build(
        "(float[2,3] x, float[3] w) => (float[a,b] y)", "y = Mul (x, w)", w=floats(1, 10, 100)
    )
    return model, {"x": counting(2, 3) + 1}, [floats([1, 20, 300], [4, 50, 600])]


@trap("ROCm/AMDMIGraphX#162", "openvinotoolkit/openvino#6338")
def float16_in_int32_data() -> Made:
    """float16 and bfloat16 weights kept as bit patterns were read as numbers."""
    model = build(
        "(float[4] x) => (float[a] y, float[b] z)",
        "f = Cast <to = 1> (half) y = Add (x, f) g = Cast <to = 1> (brain) z = Add (x, g)",
    )
    for name, data_type, bits in (
        ("half", TensorProto.FLOAT16, [0x3C00, 0xC000, 0x3800, 0x7BFF]),
        ("brain", TensorProto.BFLOAT16, [0x3F80, 0xC000, 0x3F00, 0x477F]),
    ):
        weight = onnx.TensorProto(name=name, data_type=data_type, dims=[4], int32_data=bits)
        model.graph.initializer.append(weight)
    right = [floats(1, -2, 1.5, 65504), floats(1, -2, 1.5, 65280)]
    return model, {"x": floats(0, 0, 1, 0)}, right


@trap("microsoft/onnxruntime#10250")
def nested_functions_shared_names() -> Made:
    """Names inside a function clash neither with each other nor with the graph's."""
    model = parser.parse_model(
        """
        <ir_version: 8, opset_import: ["" : 17, "local" : 1]>
        graph (float[2] x, float[2] k, float[2] t) => (float[a] y) {
            q = Add (t, x)
            p = local.twice (k, q)
            y = local.affine (p, x)
        }
        <domain: "local", opset_import: ["" : 17]>
        affine (p, k) => (q) {
            t = Mul (p, k)
            q = Add (t, k)
        }
        <domain: "local", opset_import: ["" : 17, "local" : 1]>
        twice (t, x) => (q) {
            p = local.affine (t, x)
            q = local.affine (p, t)
        }
        """
    )
    x, k, t = floats(1, 2), floats(3, 4), floats(5, 6)
    q = t + x
    inner = k * q + q
    p = inner * k + k
    return model, {"x": x, "k": k, "t": t}, [p * x + x]
