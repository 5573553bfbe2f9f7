"""Reading of the columns of a user's table: the kind of each, the features that are made of it, and later rows."""

from .reader import Reader, read_column

__all__ = ["Reader", "read_column"]
