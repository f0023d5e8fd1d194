"""Reductions over axes."""

from cugraphmodel.ops.reduce import arg_reduce as arg_reduce
from cugraphmodel.ops.reduce import reduce as reduce
