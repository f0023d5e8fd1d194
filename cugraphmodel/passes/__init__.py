"""Graph-to-graph passes, each with its contract in its docstring."""

from __future__ import annotations

from cugraphmodel.ir import Graph
from cugraphmodel.passes.channels_last import channels_last
from cugraphmodel.passes.drop_expand import drop_expand
from cugraphmodel.passes.drop_identity import drop_identity
from cugraphmodel.passes.fold_batchnorm import fold_batchnorm
from cugraphmodel.passes.fold_scale import fold_scale
from cugraphmodel.passes.fuse_activation import fuse_activation
from cugraphmodel.passes.fuse_add_norm import fuse_add_norm
from cugraphmodel.passes.fuse_attention import fuse_attention
from cugraphmodel.passes.fuse_elementwise import fuse_elementwise
from cugraphmodel.passes.fuse_integer_scale import fuse_integer_scale
from cugraphmodel.passes.fuse_matmul_bias import fuse_matmul_bias
from cugraphmodel.passes.fuse_residual import fuse_residual
from cugraphmodel.passes.fuse_squeeze import fuse_squeeze
from cugraphmodel.passes.merge_projections import merge_projections
from cugraphmodel.passes.narrow_floats import narrow_floats
from cugraphmodel.passes.precision import Numerics, Precision, numerics_of
from cugraphmodel.passes.recognize_activations import recognize_activations
from cugraphmodel.passes.recognize_norms import recognize_norms
from cugraphmodel.passes.use_tensor_cores import use_tensor_cores
from cugraphmodel.passes.view_transposes import view_transposes

__all__ = ["PASSES", "Numerics", "Precision", "numerics_of", "run_passes"]

FUSIONS = (
    drop_identity,
    recognize_norms,
    recognize_activations,
    fold_batchnorm,
    fuse_attention,
    fuse_integer_scale,
    fuse_matmul_bias,
    merge_projections,
    fuse_residual,
    fuse_add_norm,
    fuse_activation,
)
"""What makes fewer nodes, in the order in which they run."""

LAYOUTS = (
    channels_last,
    view_transposes,
    fuse_squeeze,
    drop_expand,
    fuse_elementwise,
)
"""What comes once every value has its type: where tensors lie, and what that leaves to fuse."""

PASSES = (*FUSIONS, *LAYOUTS)


def run_passes(graph: Graph, numerics: Numerics | None = None) -> Graph:
    """The graph that is lowered: fewer nodes, the same outputs by the same names.

    Args:
        graph: as traced.
        numerics: from :func:`numerics_of`; None for float32 as it is, by fused multiply-adds.
    """
    chosen = numerics or Numerics()
    for run in FUSIONS:
        graph = run(graph)
    if chosen.storage is not None:
        graph = narrow_floats(graph, chosen.storage)
    for run in LAYOUTS:
        graph = run(graph)
    return fold_scale(use_tensor_cores(graph, chosen.arithmetics))
