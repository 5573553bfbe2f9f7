"""Where tables come from: one module a source."""

from .base import Source, open_source

__all__ = ["Source", "open_source"]
