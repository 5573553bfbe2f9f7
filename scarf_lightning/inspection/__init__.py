"""Trained encoders, and what there is to see of them: for notebooks and scikit-learn."""

from .encoder import TableEncoder, load_encoder
from .measures import alignment, effective_rank, uniformity
from .rows import TrialRows, load_rows
from .views import View, corrupted_view

__all__ = [
    "TableEncoder",
    "TrialRows",
    "View",
    "alignment",
    "corrupted_view",
    "effective_rank",
    "load_encoder",
    "load_rows",
    "uniformity",
]
