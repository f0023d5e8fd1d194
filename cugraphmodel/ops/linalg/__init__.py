"""Linear algebra beyond products of two matrices: Einsum."""

from cugraphmodel.ops.linalg import einsum as einsum
