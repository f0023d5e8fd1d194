"""Operations and bytes against numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cugraphmodel.cost import Rates, floor_us, node_bytes, node_flops, rates_of
from cugraphmodel.ir import Node, Value
from tests.ops.harness import graph_of
from tests.ops.test_cases import CASES

Shapes = Sequence[tuple[int, ...] | None]


def values(prefix: str, shapes: Shapes, dtype: str = "float32") -> list[Value | None]:
    return [
        None if shape is None else Value(np.dtype(dtype), shape, f"{prefix}{position}")
        for position, shape in enumerate(shapes)
    ]


def node(op_type: str, **attributes: Any) -> Node:
    return Node(op_type, (), (), "", 21, attributes)


def own(op_type: str, **attributes: Any) -> Node:
    return Node(op_type, (), (), "cugraphmodel", 1, attributes)


@pytest.mark.parametrize(
    ("made", "inputs", "output", "flops"),
    [
        (node("MatMul"), [(5, 7), (7, 3)], (5, 3), 2 * 5 * 7 * 3),
        (node("MatMul"), [(4, 2, 5, 7), (7, 3)], (4, 2, 5, 3), 8 * 2 * 5 * 7 * 3),
        (node("MatMul"), [(7,), (7, 3)], (3,), 2 * 7 * 3),
        (own("FusedMatMul", transB=1), [(5, 7), (3, 7)], (5, 3), 2 * 5 * 7 * 3),
        (node("Gemm"), [(5, 7), (7, 3), (3,)], (5, 3), 2 * 5 * 7 * 3),
        (node("Gemm", transA=1), [(7, 5), (7, 3)], (5, 3), 2 * 5 * 7 * 3),
        (own("FusedGemm", transB=1), [(5, 7), (3, 7)], (5, 3), 2 * 5 * 7 * 3),
        (
            node("QLinearMatMul"),
            [(5, 7), (), (), (7, 3), (), (), (), ()],
            (5, 3),
            2 * 5 * 7 * 3,
        ),
        (node("Conv"), [(2, 6, 9, 9), (8, 6, 3, 3)], (2, 8, 7, 7), 2 * 2 * 8 * 49 * 6 * 9),
        (node("Conv", group=2), [(2, 6, 9, 9), (8, 3, 3, 3)], (2, 8, 7, 7), 2 * 2 * 8 * 49 * 27),
        (own("StemConv"), [(2, 3, 9, 9), (8, 3, 3, 3)], (2, 7, 7, 8), 2 * 784 * 27),
        (
            own("ChannelsLastConv"),
            [(2, 9, 9, 6), (8, 3, 3, 6)],
            (2, 7, 7, 8),
            2 * 2 * 8 * 49 * 6 * 9,
        ),
        (
            own("ChannelsLastDirectConv", group=6),
            [(2, 9, 9, 6), (3, 3, 1, 6)],
            (2, 7, 7, 6),
            2 * 2 * 6 * 49 * 9,
        ),
        (
            node("QLinearConv"),
            [(1, 6, 9, 9), (), (), (8, 6, 3, 3), (8,), (8,), (), ()],
            (1, 8, 7, 7),
            2 * 8 * 49 * 54,
        ),
        # Each of 2 * 25 inputs of a channel meets 4 filters of 3 x 3.
        (node("ConvTranspose"), [(2, 6, 5, 5), (6, 4, 3, 3)], (2, 4, 7, 7), 2 * 2 * 6 * 25 * 36),
        (node("Einsum", equation="bij,bjk->bik"), [(4, 5, 7), (4, 7, 3)], (4, 5, 3), 840),
        (node("Einsum", equation="ij->i"), [(5, 7)], (5,), 35),
        # 6 steps of 2 rows; 4 gates of 8 units from 5 inputs and 8 states.
        (node("LSTM"), [(6, 2, 5), (1, 32, 5), (1, 32, 8)], (6, 1, 2, 8), 2 * 12 * 32 * 13),
        (
            own("FusedAttention", layout=SimpleNamespace(
                lead=(2, 4), num_rows=16, num_keys=24, depth=32, width=40
            )),
            [(2, 16, 128), (2, 24, 128), (2, 24, 160)],
            (2, 16, 160),
            2 * 8 * 16 * 24 * 32 + 2 * 8 * 16 * 24 * 40,
        ),
        (
            own("SqueezeExcite"),
            [(2, 9, 8, 6), (3, 1, 1, 6), (3,), (7, 1, 1, 3), (7,)],
            (2, 1, 1, 7),
            2 * 72 * 6 + 2 * 2 * (3 * 6 + 7 * 3),
        ),
        (node("MaxPool", kernel_shape=[2, 3]), [(1, 4, 8, 9)], (1, 4, 4, 3), 48 * 6),
        (node("GlobalAveragePool"), [(2, 4, 8, 9)], (2, 4, 1, 1), 2 * 4 * 72),
        (node("Add"), [(2, 1, 5), (3, 5)], (2, 3, 5), 30),
        (node("ReduceMean"), [(2, 3, 5)], (2, 1, 1), 30),
        (node("Softmax"), [(2, 5)], (2, 5), 50),
        (node("LayerNormalization"), [(2, 5), (5,), (5,)], (2, 5), 70),
        (node("Transpose"), [(2, 5)], (5, 2), 0),
        (node("TopK"), [(2, 5), None], (2, 1), None),
    ],
    ids=lambda part: part.op_type if isinstance(part, Node) else "",
)  # fmt: skip
def test_operations(made: Node, inputs: Shapes, output: tuple[int, ...], flops: int | None) -> None:
    assert node_flops(made, values("in", inputs), values("out", [output])) == flops


def test_each_tensor_is_counted_once() -> None:
    x, weights, bias, absent = values("in", [(5, 7), (7, 3), (3,), None])
    outputs = values("out", [(5, 3), None])
    num_bytes = 4 * (35 + 21 + 3 + 15)
    assert node_bytes(node("Gemm"), [x, weights, bias, absent], outputs) == num_bytes
    assert node_bytes(node("Mul"), [x, x], values("out", [(5, 7)])) == 4 * 70
    half = node_bytes(node("Relu"), values("x", [(8,)], "float16"), values("y", [(8,)], "float16"))
    assert half == 32


def test_a_gather_reads_what_it_gives() -> None:
    table, rows = values("in", [(30000, 384), (2, 8)])
    [embedded] = values("out", [(2, 8, 384)])
    assert node_bytes(node("Gather"), [table, rows], [embedded]) == 4 * (2 * 16 * 384 + 16)
    [short] = values("short", [(1, 384)])
    assert node_bytes(node("Gather"), [short, rows], [embedded]) == 4 * (384 + 16 * 384 + 16)


def test_floor_is_the_slower_of_the_two() -> None:
    rates = Rates(bandwidth=2.0, tflops={"fma": 50, "tf32": 320, "f16": 640})
    big = values("in", [(1000, 1000), (1000, 1000)]), values("out", [(1000, 1000)])
    assert floor_us(node("MatMul"), *big, rates) == pytest.approx(2e9 / 50e12 * 1e6)
    tensor_cores = own("FusedMatMul", arithmetic="tf32")
    assert floor_us(tensor_cores, *big, rates) == pytest.approx(2e9 / 320e12 * 1e6)
    assert floor_us(node("Add"), *big, rates) == pytest.approx(12e6 / 2e12 * 1e6)
    unknown = own("FusedMatMul", arithmetic="fp8")
    assert floor_us(unknown, *big, rates) == pytest.approx(6.0)
    double = values("in", [(9, 9), (9, 9)], "float64"), values("out", [(9, 9)], "float64")
    assert floor_us(node("MatMul"), *double, rates) == pytest.approx(3 * 648 / 2e12 * 1e6)


def test_rates_are_found_by_name() -> None:
    rates = rates_of("NVIDIA H200 (sm_90), driver for CUDA 12.8")
    assert rates is not None
    assert rates.bandwidth == 4.3
    assert rates_of("AMD EPYC, kernels by g++") is None


def test_every_operator_can_be_counted() -> None:
    for case in CASES:
        graph = graph_of(case)
        [made] = graph.nodes
        inputs = [graph.values.get(name) for name in made.inputs]
        outputs = [graph.values.get(name) for name in made.outputs]
        flops = node_flops(made, inputs, outputs)
        assert flops is None or flops >= 0, case
        assert node_bytes(made, inputs, outputs) >= 0, case
