"""How a view is made: value source x which features x how many views. One module a strategy."""

from .base import Corruption, SelectiveCorruption, TrainingSource
from .selection import Selection

__all__ = ["Corruption", "Selection", "SelectiveCorruption", "TrainingSource"]
