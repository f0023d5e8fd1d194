"""Operators of ONNX Runtime's own domain, which are written as operators of the standard."""
