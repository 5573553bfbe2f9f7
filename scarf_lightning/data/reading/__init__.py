"""Reading of the columns of a user's table: the kind of each, the features that are made of it, and later rows."""

from .kinds import ReadingOptions
from .reader import Reader

__all__ = ["Reader", "ReadingOptions"]
