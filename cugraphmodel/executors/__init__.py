"""Devices that run plans: ``cuda`` and ``host`` (the CPU)."""
