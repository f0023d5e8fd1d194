"""RoiAlign and MaxRoiPool: regions of an image, each brought to one size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import FLOATS, check_dtype, required
from cugraphmodel.ops.launch import ERROR_CODE, ERROR_WORD, Argument, Launch, ceil_div
from cugraphmodel.ops.sampling.grid_sample import weight_type
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__: list[str] = []

Values = Sequence[Value | None]
THREADS = 256
CHANNELS_A_THREAD = 4
MODES = {"avg": "kAverage", "max": "kMax"}
MAX_SAMPLING_RATIO = 1024  # a thread sums the square of it
COORDINATES = ("half_pixel", "output_half_pixel")


def _checked(inputs: Values, numbers_a_region: int) -> tuple[Value, Value]:
    x, regions = required(inputs), required(inputs, 1)
    check_dtype(x, FLOATS)
    check_dtype(regions, (x.dtype,))
    if len(x.shape) != 4 or max(x.shape) >= 2**31:
        raise Unsupported(f"{x} is not [N, C, height, width] with sizes below 2^31.")
    if len(regions.shape) != 2 or regions.shape[1] != numbers_a_region:
        raise Unsupported(f"{regions} is not [regions, {numbers_a_region}].")
    return x, regions


def _output(x: Value, regions: Value, pooled: Sequence[int]) -> TensorType:
    """[regions, C, *pooled]."""
    height, width = (int(size) for size in pooled)
    if not 1 <= min(height, width) <= max(height, width) < 2**31:
        raise Unsupported(f"A region cannot be brought to {height} x {width} elements.")
    output = TensorType(x.dtype, (regions.shape[0], x.shape[1], height, width))
    if 0 in (x.shape[0], *x.shape[2:]) and output.size:
        raise Unsupported(f"{x} is empty.")
    return output


def _align_attributes(node: Node) -> tuple[str, str]:
    mode = str(node.attributes.get("mode", "avg"))
    default = "half_pixel" if node.version >= 16 else "output_half_pixel"
    coordinates = str(node.attributes.get("coordinate_transformation_mode", default))
    if mode not in MODES or coordinates not in COORDINATES:
        raise Unsupported(f"mode={mode!r}, coordinate_transformation_mode={coordinates!r}.")
    return MODES[mode], coordinates


def _infer_align(node: Node, inputs: Values) -> list[TensorType]:
    x, regions = _checked(inputs, 4)
    image_of = required(inputs, 2)
    check_dtype(image_of, (np.dtype("int64"),))
    if image_of.shape != regions.shape[:1]:
        raise Unsupported(f"{image_of} does not name an image for each of {regions}.")
    _align_attributes(node)
    if node.attributes.get("sampling_ratio", 0) > MAX_SAMPLING_RATIO:
        raise Unsupported(
            f"sampling_ratio={node.attributes['sampling_ratio']}; up to {MAX_SAMPLING_RATIO} are "
            "supported."
        )
    pooled = [node.attributes.get(f"output_{side}", 1) for side in ("height", "width")]
    return [_output(x, regions, pooled)]


def _lower_align(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    x, regions = _checked(inputs, 4)
    y = required(outputs)
    mode, coordinates = _align_attributes(node)
    num_threads = y.size // max(y.shape[1], 1) * ceil_div(y.shape[1], CHANNELS_A_THREAD)
    return _launch(
        "roi_align",
        mode,
        num_threads,
        x,
        (x, regions, required(inputs, 2), y),
        y.shape[2:],
        np.int32(node.attributes.get("sampling_ratio", 0)),
        np.float32(node.attributes.get("spatial_scale", 1.0)),
        np.int32(coordinates == "half_pixel"),
    )


def _infer_max_pool(node: Node, inputs: Values) -> list[TensorType]:
    x, regions = _checked(inputs, 5)
    pooled = node.attributes.get("pooled_shape", ())
    if len(pooled) != 2:
        raise Unsupported(f"pooled_shape={list(pooled)} is not a height and a width.")
    return [_output(x, regions, pooled)]


def _lower_max_pool(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    x, regions = _checked(inputs, 5)
    y = required(outputs)
    scale = np.float32(node.attributes.get("spatial_scale", 1.0))
    return _launch("max_roi_pool", "kMax", y.size, x, (x, regions, y), y.shape[2:], scale)


def _launch(
    entry: str,
    mode: str,
    num_threads: int,
    x: Value,
    tensors: tuple[Argument, ...],
    pooled: tuple[int, ...],
    *more: Argument,
) -> list[Launch]:
    if num_threads == 0:
        return []
    return [
        Launch(
            source="ops/sampling/roi.cu",
            entry=entry,
            grid=(ceil_div(num_threads, THREADS), 1, 1),
            block=(THREADS, 1, 1),
            args=(
                *tensors,
                np.int64(num_threads),
                _image(x),
                *map(np.int32, pooled),
                *more,
                *(ERROR_WORD, ERROR_CODE),
            ),
            macros=(
                ("SCALAR", c_type(x.dtype)),
                ("WEIGHT", weight_type(x.dtype)),
                ("MODE", mode),
            ),
        )
    ]


def _image(x: Value) -> npt.NDArray[np.int32]:
    """``struct Image`` of ``roi.cu``."""
    return np.array(x.shape, np.int32)


register(
    OpSpec("RoiAlign", 10, _infer_align, _lower_align),
    OpSpec("MaxRoiPool", 1, _infer_max_pool, _lower_max_pool),
)
