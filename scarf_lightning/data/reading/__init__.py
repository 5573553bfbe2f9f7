"""How the columns of a user's file are read: what each holds, and what is made of it."""

from .inference import ColumnsRead, ReadingOptions, read_columns
from .reader import Reader

__all__ = ["ColumnsRead", "Reader", "ReadingOptions", "read_columns"]
