"""Damaged files end in ModelLoadError or in a model that plans, never in another error."""

from __future__ import annotations

import contextlib
import random

import pytest

from cugraphmodel.errors import CuGraphModelError, ModelLoadError
from cugraphmodel.front.bind import bind_inputs, resolve_outputs
from cugraphmodel.front.reader import read_model
from cugraphmodel.front.trace import trace
from cugraphmodel.ir import Parameters
from cugraphmodel.passes import run_passes
from cugraphmodel.plan import build_plan
from tests.api.builders import affine, convolution, gather, reshape_by_parameter

FILES = {
    builder.__name__: builder().SerializeToString()
    for builder in (affine, convolution, gather, reshape_by_parameter)
}


def is_readable(data: bytes) -> bool:
    """Whether it loads. What loads must plan, or say in one of the library's errors why not."""
    try:
        source = read_model(data)
    except ModelLoadError:
        return False
    with contextlib.suppress(CuGraphModelError):
        shapes = bind_inputs(source.inputs, 1, {}, {})
        outputs = resolve_outputs(source, None)
        traced = trace(source, Parameters(source.parameters), shapes, outputs, {})
        build_plan(run_passes(traced.graph))
    return True


@pytest.mark.parametrize("name", FILES)
def test_truncated_files(name: str) -> None:
    data = FILES[name]
    loaded = [is_readable(data[:length]) for length in range(0, len(data), 3)]
    assert not any(loaded[: len(loaded) // 2])


@pytest.mark.parametrize("name", FILES)
def test_files_with_a_flipped_bit(name: str) -> None:
    rng = random.Random(name)  # noqa: S311 - damage, not secrets
    refused = 0
    for _ in range(250):
        data = bytearray(FILES[name])
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        refused += not is_readable(bytes(data))
    assert refused > 0


@pytest.mark.parametrize("name", FILES)
def test_files_with_a_damaged_stretch(name: str) -> None:
    rng = random.Random(name)  # noqa: S311 - damage, not secrets
    for _ in range(100):
        data = bytearray(FILES[name])
        start = rng.randrange(len(data))
        data[start : start + rng.randrange(1, 20)] = rng.randbytes(rng.randrange(20))
        is_readable(bytes(data))
