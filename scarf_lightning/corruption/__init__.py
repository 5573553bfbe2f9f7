"""Views of rows: the selection of features, and the values that replace them."""

from .strategies import Corruption, Selection, SelectiveCorruption, TrainingSource, check_kept

__all__ = ["Corruption", "Selection", "SelectiveCorruption", "TrainingSource", "check_kept"]
