"""Elementwise operators, all run by one kernel."""

from cugraphmodel.ops.elementwise import binary as binary
from cugraphmodel.ops.elementwise import fused as fused
from cugraphmodel.ops.elementwise import unary as unary
from cugraphmodel.ops.elementwise import variadic as variadic
