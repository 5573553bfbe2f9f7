"""Drawings of a report, each with its figure. A subclass of `Drawing` with a name is an option."""

from .drawing import Drawing, draw_all, read_drawings

__all__ = ["Drawing", "draw_all", "read_drawings"]
