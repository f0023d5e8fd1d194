"""Index data out of range: an IndexError that names the node, and a graph that goes on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cugraphmodel
from cugraphmodel.errors import DataIndexError
from tests.api.builders import build, gather, normal

TABLE = np.arange(15, dtype=np.float32).reshape(5, 3)


@pytest.mark.parametrize("bad", [5, -6, 2**62, -(2**63), 2**31, 2**32])
def test_an_index_out_of_range_is_an_index_error(bad: int, device: str) -> None:
    model = cugraphmodel.load(gather(), device=device)
    with model.capture_graph(4) as graph:
        good = np.array([0, 4, -1, -5])
        np.testing.assert_array_equal(graph.run([good])[0], TABLE[good])
        for _ in range(2):
            with pytest.raises(DataIndexError, match=r"node 0 .*Gather") as caught:
                graph.run([np.array([0, 1, bad, 2])])
            assert isinstance(caught.value, IndexError)
            np.testing.assert_array_equal(graph.run([good])[0], TABLE[good])


def test_every_way_to_run_reports_it(device: str) -> None:
    bad = np.array([7, 0])
    model = cugraphmodel.load(gather(), device=device)
    with model.capture_graph(2) as graph:
        graph.input_slice_mut(0)[...] = bad
        for run in (
            graph.run_inplace,
            graph.run_timed_inplace,
            lambda: graph.run([bad]),
            lambda: graph.run_timed([bad]),
            lambda: model.forward([bad]),
        ):
            with pytest.raises(DataIndexError, match="node 0"):
                run()
        graph.input_slice_mut(0)[...] = 1
        graph.run_inplace()
        np.testing.assert_array_equal(graph.output_slice(0), TABLE[[1, 1]])


def test_the_first_node_at_fault_is_named(device: str) -> None:
    proto = build(
        "(int64[K] i, int64[K] j) => (float[K,3] y)",
        "a = Gather(table, i) b = Gather(table, j) y = Add(a, b)",
        table=TABLE,
    )
    proto.graph.node[1].name = "second"
    fine, bad = np.array([0]), np.array([9])
    with cugraphmodel.load(proto, device=device).capture_graph(1) as graph:
        with pytest.raises(DataIndexError, match=r"node 1 'second' \(Gather\)"):
            graph.run([fine, bad])
        with pytest.raises(DataIndexError, match=r"node 0 \(Gather\)"):
            graph.run([bad, bad])
        np.testing.assert_array_equal(graph.run([fine, fine])[0], TABLE[:1] * 2)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_both_index_types_are_taken_as_they_are(dtype: Any, device: str) -> None:
    name = np.dtype(dtype).name
    proto = build(f"({name}[K] i, float[6,2] t) => (float[K,2] y)", "y = Gather(t, i)")
    table, indices = normal(1, 6, 2), np.array([5, -6, 3], dtype)
    with cugraphmodel.load(proto, device=device).capture_graph(3) as graph:
        np.testing.assert_array_equal(graph.run([indices, table])[0], table[indices])
        with pytest.raises(DataIndexError):
            graph.run([np.array([0, 0, 6], dtype), table])
