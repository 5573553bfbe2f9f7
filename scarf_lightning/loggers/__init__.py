"""W&B and TensorBoard views of the store: one run a cell, made from its files, and so at any time again."""

from .live import live_curves
from .upload import upload_sweep
from .view import CellView, cell_view, run_name, unstored_view, validation_errors
from .writing import write_views

__all__ = [
    "CellView",
    "cell_view",
    "live_curves",
    "run_name",
    "unstored_view",
    "upload_sweep",
    "validation_errors",
    "write_views",
]
