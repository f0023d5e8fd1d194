"""The CUDA executor; the only place that imports CuPy."""
