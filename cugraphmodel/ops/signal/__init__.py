"""Signals: Fourier transforms, and weights of mel filters."""

from cugraphmodel.ops.signal import dft as dft
from cugraphmodel.ops.signal import mel as mel
