"""Cases of the operators that change a shape alone."""

from __future__ import annotations

import numpy as np

from cugraphmodel.ops.case import OpCase

__all__ = ["CASES"]

_X = OpCase.random(1, 2, 1, 3, 4)


def _ints(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


CASES = [
    OpCase("rest", "Reshape", [_X, _ints(4, -1)]),
    OpCase("rest", "Reshape", [_X, _ints(4, -1)], opset=7),
    OpCase("zero_copies", "Reshape", [_X, _ints(0, 0, -1)]),
    OpCase("to_rank_0", "Reshape", [OpCase.random(2, 1, 1), _ints()]),
    OpCase("allowzero", "Reshape", [np.zeros((0, 3), np.float32), _ints(3, 0)], {"allowzero": 1}),
    OpCase("int64", "Reshape", [np.arange(6), _ints(2, 3)]),
    OpCase("default_axis", "Flatten", [_X]),
    OpCase("default_axis", "Flatten", [_X], opset=9),
    OpCase("axis_0", "Flatten", [_X], {"axis": 0}),
    OpCase("axis_rank", "Flatten", [_X], {"axis": 4}),
    OpCase("negative_axis", "Flatten", [_X], {"axis": -1}),
    OpCase("rank_1", "Flatten", [OpCase.random(3, 5)]),
    OpCase("all", "Squeeze", [_X]),
    OpCase("attribute", "Squeeze", [_X], {"axes": [1]}, opset=7),
    OpCase("input", "Squeeze", [_X, _ints(-3)]),
    OpCase("attribute", "Unsqueeze", [_X], {"axes": [0, 5]}, opset=9),
    OpCase("input", "Unsqueeze", [_X, _ints(-1, 0, 2)]),
    OpCase("rank_0", "Unsqueeze", [np.array(3, np.float32), _ints(0)]),
    OpCase("float32", "Identity", [_X]),
    OpCase("bool", "Identity", [_X > 0], opset=7),
    OpCase("float64", "Identity", [_X.astype(np.float64)]),
    OpCase("attribute", "Dropout", [_X], {"ratio": 0.5}, opset=7),
    OpCase("default", "Dropout", [_X], opset=10),
    OpCase("ratio_input", "Dropout", [_X, np.array(0.5, np.float32)], opset=13),
    OpCase("mask", "Dropout", [_X], opset=22, num_outputs=2),
    OpCase(
        "mask_of_scalar",
        "Dropout",
        [np.array(2.0), np.array(0.9)],
        opset=12,
        num_outputs=2,
        expected=lambda x, _ratio: [x, np.array(True)],
    ),
    OpCase(
        "mask_as_floats",
        "Dropout",
        [_X.astype(np.float16)],
        opset=7,
        num_outputs=2,
        expected=lambda x: [x, np.ones_like(x)],
    ),
    OpCase("training_mode", "Dropout", [_X, np.array(0.5, np.float32), np.array(False)]),
    OpCase(
        "scores",
        "ZipMap",
        [OpCase.random(4, 3, 2)],
        {"classlabels_strings": ["no", "yes"]},
        opset=1,
        domain="ai.onnx.ml",
        expected=lambda scores: [scores],
    ),
    OpCase(
        "one_row",
        "ZipMap",
        [OpCase.random(5, 3)],
        {"classlabels_int64s": [7, 8, 9]},
        opset=1,
        domain="ai.onnx.ml",
        expected=lambda scores: [scores.reshape(1, 3)],
    ),
]
