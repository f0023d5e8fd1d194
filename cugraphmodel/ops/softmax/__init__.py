"""Softmax, LogSoftmax and Hardmax."""

from cugraphmodel.ops.softmax import quantized_softmax as quantized_softmax
from cugraphmodel.ops.softmax import softmax as softmax
