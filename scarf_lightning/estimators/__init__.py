"""scikit-learn estimators, and one model: to predict with, embed with, look into and save.

ScarfClassifier, ScarfRegressor, ScarfTransformer   train
load_model                                          opens a saved model, or a cell of the store in one of its phases
Model                                               networks, which all of them give
"""

from ..engine.probing import alignment, effective_rank, uniformity
from .estimators import ScarfClassifier, ScarfRegressor, ScarfTransformer
from .model import Model
from .opening import load_model

__all__ = [
    "Model",
    "ScarfClassifier",
    "ScarfRegressor",
    "ScarfTransformer",
    "alignment",
    "effective_rank",
    "load_model",
    "uniformity",
]
