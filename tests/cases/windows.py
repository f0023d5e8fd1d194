"""Pools, convolutions, Resize and sampling."""

from __future__ import annotations

import itertools
import math

import numpy as np

from tests.api.builders import build, normal
from tests.cases.trap import Array, Made, counting, floats, trap


@trap("microsoft/onnxruntime#17564")
def resize_align_corners_vs_asymmetric() -> Made:
    """``align_corners`` and ``asymmetric`` gave the same numbers for a linear enlargement."""
    model = build(
        "(float[1,1,1,4] x) => (float[a,b,c,d] y, float[e,f,g,h] z)",
        'y = Resize <coordinate_transformation_mode = "align_corners", mode = "linear">'
        ' (x, "", "", s)'
        'z = Resize <coordinate_transformation_mode = "asymmetric", mode = "linear">'
        ' (x, "", "", s)',
        s=np.array([1, 1, 1, 7]),
    )
    x, at = counting(1, 1, 1, 4), np.arange(7)
    aligned = at * (4 - 1) / (7 - 1)
    asymmetric = np.minimum(at * 4 / 7, 3)  # past the last element there is only that
    return model, {"x": x}, [floats([[aligned]]), floats([[asymmetric]])]


@trap("onnx/onnx#4726")
def resize_output_size_floor() -> Made:
    """The output size is floor(size * scale), whatever the coordinates say."""
    model = build(
        "(float[1,1,1,3] x) => (float[a,b,c,d] y)",
        'y = Resize <mode = "nearest"> (x, "", s)',
        opset=13,
        s=floats(1, 1, 1, 2.5),
    )
    return model, {"x": floats([[[1, 2, 3]]])}, [floats([[[1, 1, 1, 2, 2, 3, 3]]])]


@trap("microsoft/onnxruntime#16203", "pytorch/pytorch#183528")
def average_pool_ceil_include_pad() -> Made:
    """``ceil_mode`` with ``count_include_pad``: cells beyond the padding are not counted."""
    model = build(
        "(float[1,1,4,4] x) => (float[a,b,c,d] y)",
        "y = AveragePool <ceil_mode = 1, count_include_pad = 1, kernel_shape = [3, 3],"
        " pads = [1, 1, 1, 1], strides = [2, 2]> (x)",
        opset=19,
        ir_version=9,
    )
    x = counting(1, 1, 4, 4) + 1
    padded = np.pad(x[0, 0], 1)
    y = [[padded[r : r + 3, c : c + 3].mean() for c in (0, 2, 4)] for r in (0, 2, 4)]
    return model, {"x": x}, [floats([y])]


@trap("microsoft/onnxruntime#15446")
def max_pool_ceil_padded() -> Made:
    """``ceil_mode``: a window that starts in the end padding is dropped."""
    model = build(
        "(float[1,1,5] x) => (float[a,b,c] y)",
        "y = MaxPool <ceil_mode = 1, kernel_shape = [3], pads = [1, 1], strides = [3]> (x)",
        opset=19,
        ir_version=9,
    )
    return model, {"x": floats([[1, 5, 2, 7, 3]])}, [floats([[5, 7]])]


@trap("sonos/tract#2860")
def max_pool_storage_order() -> Made:
    """Indices count through all planes; ``storage_order=1`` is column-major inside a plane."""
    model = build(
        "(float[1,2,2,3] x) =>"
        " (float[a,b,c,d] y, int64[a,b,c,d] i, float[a,b,c,d] z, int64[a,b,c,d] j)",
        "y, i = MaxPool <kernel_shape = [2, 2], storage_order = 0> (x)"
        "z, j = MaxPool <kernel_shape = [2, 2], storage_order = 1> (x)",
        opset=12,
    )
    x = floats([[[1, 5, 2], [3, 4, 6]], [[9, 0, 0], [0, 0, 8]]])
    highest = floats([[[5, 6]], [[9, 8]]])
    rows = np.array([[[[1, 5]], [[6, 11]]]])
    columns = np.array([[[[2, 5]], [[6, 11]]]])
    return model, {"x": x}, [highest, rows, highest, columns]


@trap("onnx/onnx#4527", "microsoft/onnxruntime#26271")
def conv_transpose_output_shape() -> Made:
    """``output_shape`` fixes the padding: 2 in all here, one at each side."""
    w = counting(1, 1, 4, 4) + 1
    model = build(
        "(float[1,1,3,3] x) => (float[a,b,c,d] y)",
        "y = ConvTranspose <output_shape = [6, 6], strides = [2, 2]> (x, w)",
        w=w,
    )
    x = counting(1, 1, 3, 3) + 1
    full = np.zeros((8, 8), np.float32)  # 2 * (3 - 1) + 4
    for row, column in itertools.product(range(3), range(3)):
        full[2 * row : 2 * row + 4, 2 * column : 2 * column + 4] += x[0, 0, row, column] * w[0, 0]
    return model, {"x": x}, [full[None, None, 1:-1, 1:-1]]


@trap("root-project/root#21737")
def conv_same_even_kernel() -> Made:
    """An even kernel: SAME_UPPER pads at the end, SAME_LOWER at the start."""
    model = build(
        "(float[1,1,4] x) => (float[a,b,c] u, float[d,e,f] l)",
        'u = Conv <auto_pad = "SAME_UPPER"> (x, w) l = Conv <auto_pad = "SAME_LOWER"> (x, w)',
        w=floats([[1, 10]]),
    )
    right = [floats([[21, 32, 43, 4]]), floats([[10, 21, 32, 43]])]
    return model, {"x": floats([[1, 2, 3, 4]])}, right


@trap("microsoft/onnxruntime#10628")
def grid_sample_nearest_and_zeros() -> Made:
    """``nearest`` rounds and then looks at the border; points outside give 0."""
    model = build(
        "(float[1,1,2,3] x, float[1,2,3,2] grid) => (float[a,b,c,d] y)",
        'y = GridSample <mode = "nearest"> (x, grid)',
        opset=16,
    )
    x = floats([[[1, 2, 3], [4, 5, 6]]])
    grid = floats([[[-0.9, -0.9], [0.2, 0.8], [1.9, 0]], [[0.5, -0.4], [-1.2, 0.9], [0, 3]]])
    y = np.zeros((1, 1, 2, 3), np.float32)
    for row, column in np.ndindex(2, 3):
        u, v = grid[0, row, column].astype(float)
        across, down = round(((u + 1) * 3 - 1) / 2), round(((v + 1) * 2 - 1) / 2)
        if 0 <= across < 3 and 0 <= down < 2:
            y[0, 0, row, column] = x[0, 0, down, across]
    return model, {"x": x, "grid": grid}, [y]


@trap("apache/tvm#19501")
def roi_align_half_pixel() -> Made:
    """``half_pixel``, the default since opset 16, was ignored: half a pixel off."""
    layer = "RoiAlign <output_height = 3, output_width = 3, sampling_ratio = 2{}> (x, rois, batch)"
    old = ', coordinate_transformation_mode = "output_half_pixel"'
    model = build(
        "(float[1,1,8,8] x, float[2,4] rois, int64[2] batch)"
        " => (float[a,b,c,d] y, float[e,f,g,h] z)",
        f"y = {layer.format('')} z = {layer.format(old)}",
        opset=16,
    )
    x = normal(1, 1, 1, 8, 8)
    rois = floats([1, 1, 5, 6], [0.5, 2, 7, 7.5])
    right = [_roi_align(x[0, 0].astype(float), rois.astype(float), shift) for shift in (0.5, 0)]
    return model, {"x": x, "rois": rois, "batch": np.zeros(2, np.int64)}, right


def _roi_align(plane: Array, rois: Array, shift: float) -> Array:
    """Means [rois, 1, 3, 3] of 2 x 2 samples a bin."""
    result = np.zeros((len(rois), 1, 3, 3), np.float32)
    for index, (left, top, right, bottom) in enumerate(rois - shift):
        for row, column in np.ndindex(3, 3):
            samples = [
                _bilinear(
                    plane,
                    top + (row + (i + 0.5) / 2) * (bottom - top) / 3,
                    left + (column + (j + 0.5) / 2) * (right - left) / 3,
                )
                for i, j in np.ndindex(2, 2)
            ]
            result[index, 0, row, column] = np.mean(samples)
    return result


def _bilinear(plane: Array, y: float, x: float) -> float:
    """0 more than a pixel outside; in between, the border goes on."""
    height, width = plane.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = math.floor(y), math.floor(x)
    low, right = min(top + 1, height - 1), min(left + 1, width - 1)
    v, u = y - top, x - left
    above = (1 - u) * plane[top, left] + u * plane[top, right]
    below = (1 - u) * plane[low, left] + u * plane[low, right]
    return float((1 - v) * above + v * below)
