"""Softmax, LogSoftmax and Hardmax."""

from cugraphmodel.ops.softmax import softmax as softmax
