"""How a file of the user's own is read: what its columns hold, and what is made of each."""

from .columns import ReadingOptions, read_columns
from .leaks import leaks
from .target import read_target

__all__ = ["ReadingOptions", "leaks", "read_columns", "read_target"]
