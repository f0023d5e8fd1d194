"""Normalisation operators."""

from cugraphmodel.ops.norm import batch_norm, composed, row_norm

__all__ = ["batch_norm", "composed", "row_norm"]
