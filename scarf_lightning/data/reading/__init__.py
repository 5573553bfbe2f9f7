"""How a file of the user's own is read: what its columns hold, and what is made of each."""

from .columns import ColumnsRead, ReadingOptions, read_columns
from .leaks import leaks
from .reader import Reader
from .target import read_target

__all__ = ["ColumnsRead", "Reader", "ReadingOptions", "leaks", "read_columns", "read_target"]
