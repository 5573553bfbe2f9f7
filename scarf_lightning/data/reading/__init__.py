"""Reading of the columns of a user's table: the kind of each, the features that are made of it, and later rows."""

from .reader import Reader, ReadingOptions, read_column

__all__ = ["Reader", "ReadingOptions", "read_column"]
