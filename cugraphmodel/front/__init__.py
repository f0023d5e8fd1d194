"""From an ONNX file to a :class:`cugraphmodel.ir.Graph`; the only place that imports onnx."""
