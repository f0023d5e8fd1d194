"""Linear algebra beyond products of two matrices: Einsum, Det, Inverse."""

from cugraphmodel.ops.linalg import det as det
from cugraphmodel.ops.linalg import einsum as einsum
