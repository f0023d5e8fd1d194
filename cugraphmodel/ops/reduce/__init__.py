"""Reductions over axes."""

from cugraphmodel.ops.reduce import reduce

__all__ = ["reduce"]
