"""Resize, Upsample and AffineGrid."""

from cugraphmodel.ops.resize import affine_grid as affine_grid
from cugraphmodel.ops.resize import resize as resize
