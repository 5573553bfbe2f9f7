"""How a view is made: which features of a row are selected, and which values replace them."""

from .selection import Selection
from .strategies import Corruption, SelectiveCorruption, TrainingSource

__all__ = ["Corruption", "Selection", "SelectiveCorruption", "TrainingSource"]
