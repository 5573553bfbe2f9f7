"""How a view is made: which features of a row are selected, and which values replace them."""

from .strategies import Corruption, Selection, SelectiveCorruption, TrainingSource

__all__ = ["Corruption", "Selection", "SelectiveCorruption", "TrainingSource"]
