"""Real models: fetched, never committed; compared with ONNX Runtime."""
