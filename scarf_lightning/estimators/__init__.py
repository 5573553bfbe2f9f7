"""scikit-learn estimators, and one model: to predict with, embed with, look into and save.

ScarfClassifier, ScarfRegressor, ScarfTransformer   train
load_model                                          opens a saved model, or a cell of the store in one of its phases
Model                                               networks, which all of them give
"""

import sys

from .. import networks
from ..data import targets
from ..engine.probing import alignment, effective_rank, uniformity
from . import estimators
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

FORMER_HOMES = {
    "data.targets.classes": targets,
    "data.targets.number": targets,
    "estimators.scarf_transformer": estimators,
    "networks.network": networks,
}
"""Modules that pickled estimators of earlier versions name, and what holds their classes."""
for _name, _module in FORMER_HOMES.items():
    sys.modules.setdefault(f"scarf_lightning.{_name}", _module)
