"""Convolutions: Conv, ConvTranspose."""

from cugraphmodel.ops.conv import channels_last as channels_last
from cugraphmodel.ops.conv import col2im as col2im
from cugraphmodel.ops.conv import conv as conv
from cugraphmodel.ops.conv import conv_transpose as conv_transpose
from cugraphmodel.ops.conv import quantized as quantized
