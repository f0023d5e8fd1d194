"""Graph-to-graph passes, each with its contract in its docstring."""

from __future__ import annotations

from collections.abc import Callable

from cugraphmodel.ir import Graph

__all__ = ["PASSES", "run_passes"]

PASSES: tuple[Callable[[Graph], Graph], ...] = ()
"""In the order in which they run."""


def run_passes(graph: Graph) -> Graph:
    """The graph that is lowered: fewer nodes, the same outputs by the same names."""
    for run in PASSES:
        graph = run(graph)
    return graph
