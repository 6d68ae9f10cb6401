"""The project's own model file (.qnz): a graph as JSON and its arrays, in one zip file."""

from .package import load_package as read

__all__ = ["read"]
