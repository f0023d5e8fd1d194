"""Operators: one folder a family, each registered by the import below."""
