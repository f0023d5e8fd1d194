"""Reductions over axes."""

from cugraphmodel.ops.reduce import arg_reduce, reduce

__all__ = ["arg_reduce", "reduce"]
