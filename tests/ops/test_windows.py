"""Random geometries of convolutions, pools and matrix products, against their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from cugraphmodel.executors.base import Device
from cugraphmodel.ops.case import OpCase
from cugraphmodel.ops.conv.conv_cases import expected_conv
from cugraphmodel.ops.spec import Unsupported
from cugraphmodel.ops.window import Window, output_window
from tests.ops import harness

SAME_DEVICE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def check(case: OpCase, device: Device) -> None:
    """The device gives the case's expected outputs."""
    for got, right in zip(harness.run(case, device), harness.expected_outputs(case), strict=True):
        harness.assert_close(case, got, right)


@st.composite
def conv_cases(draw: st.DrawFn) -> OpCase:
    """A convolution with one to three spatial axes."""
    rank = draw(st.integers(1, 3))
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    channels, filters = draw(st.integers(1, 4)), draw(st.sampled_from([1, 2, 5, 11]))

    def numbers(least: int, most: int, count: int = rank) -> list[int]:
        return draw(st.lists(st.integers(least, most), min_size=count, max_size=count))

    kernel, strides, dilations = numbers(1, 3), numbers(1, 3), numbers(1, 2)
    pads = numbers(0, 2, 2 * rank)
    extent = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    spatial = [max(e, n) for e, n in zip(extent, numbers(1, 9), strict=True)]
    attributes: dict[str, Any] = {
        "group": groups,
        "strides": strides,
        "dilations": dilations,
        "pads": pads,
    }
    return OpCase(
        "random",
        "Conv",
        [
            OpCase.random(1, draw(st.integers(1, 3)), groups * channels, *spatial),
            OpCase.random(2, groups * filters, channels, *kernel),
            OpCase.random(3, groups * filters),
        ],
        attributes,
        expected=expected_conv(**attributes),
    )


@SAME_DEVICE
@given(case=conv_cases())
def test_convolution_is_its_definition(case: OpCase, opened_device: Device) -> None:
    check(case, opened_device)


@st.composite
def matmul_cases(draw: st.DrawFn) -> OpCase:
    """A matrix product with broadcast batch axes."""
    sizes = st.sampled_from([1, 2, 3, 4, 5, 17, 33, 64, 70])
    rows, depth, columns = draw(sizes), draw(sizes), draw(sizes)
    batch = draw(st.lists(st.integers(1, 3), max_size=3))

    def side() -> list[int]:
        kept = batch[draw(st.integers(0, len(batch))) :]
        return [size if draw(st.booleans()) else 1 for size in kept]

    return OpCase(
        "random",
        "MatMul",
        [OpCase.random(1, *side(), rows, depth), OpCase.random(2, *side(), depth, columns)],
        expected=lambda a, b: [np.matmul(a.astype(np.float64), b.astype(np.float64))],
    )


@SAME_DEVICE
@given(case=matmul_cases())
def test_matrix_product_is_numpys(case: OpCase, opened_device: Device) -> None:
    check(case, opened_device)


@st.composite
def windows(draw: st.DrawFn) -> tuple[int, dict[str, Any]]:
    """Size of one axis, and the attributes of a pool over it."""
    auto_pad = draw(st.sampled_from(["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"]))
    attributes: dict[str, Any] = {
        "kernel": draw(st.integers(1, 5)),
        "strides": [draw(st.integers(1, 4))],
        "dilations": [draw(st.integers(1, 3))],
        "auto_pad": auto_pad,
        "ceil_mode": draw(st.integers(0, 1)),
    }
    if auto_pad == "NOTSET":
        attributes["pads"] = draw(st.lists(st.integers(0, 4), min_size=2, max_size=2))
    return draw(st.integers(1, 20)), attributes


def _window(size: int, attributes: dict[str, Any]) -> Window:
    try:
        return output_window(attributes, [size], [attributes["kernel"]])
    except Unsupported:
        assume(False)
        raise


@given(drawn=windows())
@example(
    drawn=(
        1,
        {
            "kernel": 1,
            "strides": [1],
            "dilations": [1],
            "auto_pad": "NOTSET",
            "ceil_mode": 1,
            "pads": [0, 2],
        },
    )
)
def test_windows_cover_the_input_as_onnx_says(drawn: tuple[int, dict[str, Any]]) -> None:
    size, attributes = drawn
    window = _window(size, attributes)
    stride, pad, end = window.strides[0], window.pads[0], size + window.pads_end[0]
    extent = (window.kernel[0] - 1) * window.dilations[0] + 1
    starts = [position * stride - pad for position in range(window.output[0])]
    next_start = window.output[0] * stride - pad
    if attributes["auto_pad"].startswith("SAME"):
        assert window.output[0] == -(-size // stride)
        assert abs(window.pads[0] - window.pads_end[0]) <= 1
        assert all(start + extent <= end for start in starts)
    elif attributes["ceil_mode"]:
        assert starts[-1] < size
        assert next_start >= size or starts[-1] + extent >= end
    else:
        assert starts[-1] + extent <= end
        assert next_start + extent > end


@pytest.mark.parametrize(
    ("attributes", "spatial", "kernel", "reason"),
    [
        ({}, (), (), "0 spatial axes"),
        ({}, (4, 4, 4, 4), (1, 1, 1, 1), "4 spatial axes"),
        ({"strides": [0, 1]}, (4, 4), (1, 1), r"strides=\[0, 1\] is not 2 numbers from 1 up"),
        ({"strides": [1]}, (4, 4), (1, 1), r"strides=\[1\] is not 2 numbers"),
        ({"dilations": [1, -1]}, (4, 4), (1, 1), "dilations="),
        ({"pads": [1, 1]}, (4, 4), (1, 1), "pads="),
        ({"pads": [0, 0, -1, 0]}, (4, 4), (1, 1), "pads="),
        ({"auto_pad": "SOME"}, (4, 4), (1, 1), "auto_pad='SOME'"),
        ({}, (4, 2), (1, 3), "A window of 3 does not fit into 2 positions"),
        ({}, (2**16, 2**16), (1, 1), r"2\^30 or more elements"),
        ({"strides": [2**30, 1]}, (4, 4), (1, 1), r"2\^30 or more elements"),
    ],
)
def test_windows_that_mean_nothing_are_refused(
    attributes: dict[str, Any], spatial: tuple[int, ...], kernel: tuple[int, ...], reason: str
) -> None:
    with pytest.raises(Unsupported, match=reason):
        output_window(attributes, spatial, kernel)
