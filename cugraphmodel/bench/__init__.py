"""Measuring a model against other runtimes, each in a process of its own, taking turns."""
