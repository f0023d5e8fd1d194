"""The CPU device: the same kernels, compiled by a C++ compiler."""
