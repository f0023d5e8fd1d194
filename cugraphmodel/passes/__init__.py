"""Graph-to-graph passes, each with its contract in its docstring."""

from __future__ import annotations

from cugraphmodel.ir import Graph
from cugraphmodel.passes.fold_batchnorm import fold_batchnorm
from cugraphmodel.passes.fuse_activation import fuse_activation
from cugraphmodel.passes.fuse_attention import fuse_attention
from cugraphmodel.passes.fuse_integer_scale import fuse_integer_scale
from cugraphmodel.passes.fuse_matmul_bias import fuse_matmul_bias

__all__ = ["PASSES", "run_passes"]

PASSES = (fold_batchnorm, fuse_attention, fuse_integer_scale, fuse_matmul_bias, fuse_activation)
"""In the order in which they run."""


def run_passes(graph: Graph) -> Graph:
    """The graph that is lowered: fewer nodes, the same outputs by the same names."""
    for run in PASSES:
        graph = run(graph)
    return graph
