"""Views of the store in W&B and any logger of Lightning's: one run for each cell. They can be made again
from its files at any time."""

from .view import CellView, cell_view, run_name, validation_errors
from .writing import live_curves, write_views

__all__ = [
    "CellView",
    "cell_view",
    "live_curves",
    "run_name",
    "validation_errors",
    "write_views",
]
