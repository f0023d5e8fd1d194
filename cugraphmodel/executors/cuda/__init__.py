"""The CUDA device: kernels compiled by NVRTC, launched by CuPy, captured as one CUDA graph.

Nothing here imports CuPy or touches the driver at import, so that processes may fork freely until
the first device is asked for.
"""

from __future__ import annotations

from cugraphmodel.executors.cuda.device import CudaDevice, open_device
from cugraphmodel.executors.cuda.driver import cuda_available

__all__ = ["CudaDevice", "cuda_available", "open_device"]
