"""Softmax and LogSoftmax."""

from cugraphmodel.ops.softmax import softmax

__all__ = ["softmax"]
