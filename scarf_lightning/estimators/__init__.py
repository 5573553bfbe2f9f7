"""scikit-learn estimators, and one model: to predict with, embed with, look into and save.

ScarfClassifier, ScarfRegressor, ScarfTransformer   train
load_model                                          opens a saved model, or a cell of the store in one of its phases
Model                                               networks, which all of them give
load_rows, corrupted_view, ...                      look into a model
"""

from ..engine.embeddings import alignment, effective_rank, uniformity
from .estimators import ScarfClassifier, ScarfRegressor
from .looking import TrialRows, View, corrupted_view, load_rows
from .model import Model
from .opening import load_model
from .scarf_transformer import ScarfTransformer

__all__ = [
    "Model",
    "ScarfClassifier",
    "ScarfRegressor",
    "ScarfTransformer",
    "TrialRows",
    "View",
    "alignment",
    "corrupted_view",
    "effective_rank",
    "load_model",
    "load_rows",
    "uniformity",
]
