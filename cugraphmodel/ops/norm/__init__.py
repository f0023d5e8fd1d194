"""Normalisation operators."""

from cugraphmodel.ops.norm import batch_norm, row_norm

__all__ = ["batch_norm", "row_norm"]
