"""Attention."""

from cugraphmodel.ops.attention import attention as attention
