"""Softmax, LogSoftmax and Hardmax."""

from cugraphmodel.ops.softmax import softmax

__all__ = ["softmax"]
