"""Resize and Upsample."""

from cugraphmodel.ops.resize import resize as resize
