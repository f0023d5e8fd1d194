"""Graph-to-graph passes: what they take, what they leave alone, and that results stay right."""
