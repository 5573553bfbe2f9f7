"""How a view is made: value source x which features x how many views. One module a strategy."""

from .base import Corruption, TrainingSource

__all__ = ["Corruption", "TrainingSource"]
