"""Reading of the columns of a user's file: the kind of each, and the features that are made of it."""

from .inference import ReadingOptions
from .reader import Reader

__all__ = ["Reader", "ReadingOptions"]
