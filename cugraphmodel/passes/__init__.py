"""Graph-to-graph passes, each with its contract in its docstring."""
