"""Normalisation operators."""

from cugraphmodel.ops.norm import batch_norm as batch_norm
from cugraphmodel.ops.norm import composed as composed
from cugraphmodel.ops.norm import row_norm as row_norm
