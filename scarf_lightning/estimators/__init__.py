"""Models to carry away, and scikit-learn's interface to the engine."""

from .cells import model_of_cell, save_model
from .loading import load_model
from .model import Model

__all__ = ["Model", "load_model", "model_of_cell", "save_model"]
