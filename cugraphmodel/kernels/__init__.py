"""The header that all kernels share, their sources, and the cache of compiled kernels."""
