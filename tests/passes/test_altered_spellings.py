"""What is spelled a little differently is either left alone or means the same.

Each operand of each spelling is once another value. The graph before the passes, whose kernels have
tests of their own, says what is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest

from cugraphmodel.executors.base import Device
from cugraphmodel.passes import run_passes
from tests.api.builders import add_weights, build
from tests.passes import test_recognize_activations as activations
from tests.passes import test_recognize_norms as norms
from tests.passes.graphs import graph_of, parameters_of, run_graph

SPELLINGS = [
    *(body for _, body in activations.SPELLINGS),
    *norms.SPELLINGS,
    *norms.ROOT_MEAN_SQUARES,
]
NUMBERS = {**activations.NUMBERS, "eps": 1e-5}
SHAPE = (2, 3, 5, 7)


def _altered(body: str, seed: int) -> Iterator[str]:
    """The spelling, and all in which one operand is another value that is there by then."""
    yield body
    generator = np.random.default_rng(seed)
    for operand in re.finditer(r"(?<=[(, ])(\w+)(?=[,)])", body):
        made = [name.group(1) for name in re.finditer(r"(\w+) =", body[: operand.start()])][:-1]
        others = [name for name in ("x", *made) if name != operand.group(1)]
        if operand.group(1) in ("x", *made) and others:
            yield body[: operand.start()] + str(generator.choice(others)) + body[operand.end() :]


@pytest.mark.parametrize("seed", range(len(SPELLINGS)))
def test_means_the_same(seed: int, opened_device: Device) -> None:
    x = np.random.default_rng(seed).standard_normal(SHAPE).astype(np.float32)
    for body in _altered(SPELLINGS[seed], seed):
        names = set(re.findall(r"\w+", body)) - set(re.findall(r"(\w+) =", body))
        numbers = "".join(
            f"{name} = Constant<value_float={float(np.float32(NUMBERS[name]))!r}>() "
            for name in NUMBERS.keys() & names
        )
        weights = {name: norms.WEIGHTS[name] for name in norms.WEIGHTS.keys() & names - {"last"}}
        model = build("(float[2,3,5,7] x) => (float[A,B,C,D] y)", numbers + body)
        add_weights(model, **weights)
        graph, parameters = graph_of(model), parameters_of(model)
        (right,) = run_graph(graph, parameters, opened_device, [x])
        (got,) = run_graph(run_passes(graph), parameters, opened_device, [x])
        scale = np.nanmax(np.abs(right), initial=0)
        np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-5 * scale, err_msg=body)
