"""Squeeze-and-excite: a scale for each channel of an image."""

from cugraphmodel.ops.squeeze import squeeze_excite as squeeze_excite
