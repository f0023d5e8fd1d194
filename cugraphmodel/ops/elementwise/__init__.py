"""Elementwise operators, all run by one kernel."""

from cugraphmodel.ops.elementwise import binary, unary, variadic

__all__ = ["binary", "unary", "variadic"]
