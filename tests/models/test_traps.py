"""Small models on which other engines went wrong, with the right outputs: ``traps.json``.

Each entry names the public report, says what went wrong, and holds the model in ONNX's text form.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest

import cugraphmodel

TRAPS = json.loads((Path(__file__).parent / "traps.json").read_text(encoding="utf-8"))


def array_of(tensor: dict[str, Any]) -> npt.NDArray[Any]:
    return np.array(tensor["data"], tensor["dtype"]).reshape(tensor["shape"])


@pytest.mark.parametrize("trap", TRAPS, ids=[trap["name"] for trap in TRAPS])
def test_trap_gives_the_right_outputs(trap: dict[str, Any], device: str) -> None:
    proto = onnx.parser.parse_model("\n".join(trap["model"]))
    inputs = {name: array_of(tensor) for name, tensor in trap["inputs"].items()}
    model = cugraphmodel.load(proto, device=device)
    with model.capture_graph(
        input_shapes={name: array.shape for name, array in inputs.items()}
    ) as graph:
        replays = [graph.run(inputs) for _ in range(2)]
    for outputs in (*replays, model.forward(inputs)):
        for got, tensor in zip(outputs, trap["outputs"], strict=True):
            right = array_of(tensor)
            assert (got.dtype, got.shape) == (right.dtype, right.shape)
            if right.dtype.kind == "f":
                np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-6)
            else:
                np.testing.assert_array_equal(got, right)
