"""Matrix products that run on tensor cores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cugraphmodel.ir import Constant, Graph, Node, Parameters, TensorType
from cugraphmodel.ops.matmul.matmul import matrix_product
from cugraphmodel.ops.matmul.tensor_core import Arithmetic, fits_tensor_cores
from cugraphmodel.passes.rewrite import add_constant, replace_nodes

__all__ = ["use_tensor_cores"]

PRODUCTS = {
    ("", "MatMul"): "FusedMatMul",
    ("cugraphmodel", "FusedMatMul"): "FusedMatMul",
    ("", "Gemm"): "FusedGemm",
    ("cugraphmodel", "FusedGemm"): "FusedGemm",
}


def use_tensor_cores(graph: Graph, arithmetics: Mapping[str, Arithmetic]) -> Graph:
    """Give matrix products to tensor cores, and their weights the layout that those read.

    Takes: a MatMul or Gemm, fused or not, of a dtype that ``arithmetics`` names, which the kernel
    covers. A right operand with the depth outside must be a constant matrix.

    Gives: the fused form with the attribute ``arithmetic``, of the transposed constant where the
    depth was outside. Index and outputs stay.

    Args:
        graph: after all fusions.
        arithmetics: name of a dtype -> how its products are computed.
    """
    replacements: dict[int, tuple[Sequence[Node], Node]] = {}
    for node in graph.nodes:
        fused_op = PRODUCTS.get((node.domain, node.op_type))
        if fused_op is None:
            continue
        left, right = (graph.values[name] for name in node.inputs[:2])
        arithmetic = arithmetics.get(left.dtype.name)
        if arithmetic is None or min(len(left.shape), len(right.shape)) < 2:
            continue
        product = matrix_product(node, left, right)
        weights = graph.constants.get(right.name) if len(right.shape) == 2 else None
        transposes = not product.transpose_right and weights is not None
        if not fits_tensor_cores(
            replace(product, transpose_right=product.transpose_right or transposes), left.dtype
        ):
            continue
        attributes = {**node.attributes, "arithmetic": arithmetic}
        inputs = node.inputs
        if transposes and weights is not None:
            graph, packed = add_constant(graph, f"{right.name}/transposed", _transposed(weights))
            attributes["transB"] = 1
            inputs = (inputs[0], packed, *inputs[2:])
        fused = replace(
            node,
            op_type=fused_op,
            domain="cugraphmodel",
            version=1,
            inputs=inputs,
            attributes=attributes,
        )
        replacements[id(node)] = ((node,), fused)
    return replace_nodes(graph, replacements)


def _transposed(matrix: Constant) -> Constant:
    rows, columns = matrix.type.shape

    def compute(parameters: Parameters) -> npt.NDArray[np.generic]:
        return np.ascontiguousarray(matrix.compute(parameters).T)

    kind = TensorType(matrix.type.dtype, (columns, rows))
    return Constant(f"transposed {matrix.key}", kind, matrix.params, compute)
