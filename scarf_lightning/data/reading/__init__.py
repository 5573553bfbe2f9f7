"""How the columns of a user's file are read: what each holds, and what is made of it."""

from .inference import ReadingOptions
from .reader import Reader

__all__ = ["Reader", "ReadingOptions"]
