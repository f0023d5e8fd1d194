"""Convolutions: Conv, ConvTranspose."""

from cugraphmodel.ops.conv import conv as conv
