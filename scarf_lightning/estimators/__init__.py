"""Models to carry away, and scikit-learn's interface to the engine."""

from .cells import model_of_cell, save_model
from .classifier import ScarfClassifier
from .loading import load_model
from .model import Model
from .transformer import ScarfTransformer

__all__ = ["Model", "ScarfClassifier", "ScarfTransformer", "load_model", "model_of_cell", "save_model"]
