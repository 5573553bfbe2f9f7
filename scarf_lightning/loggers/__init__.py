"""W&B and TensorBoard views of the store: one run for each cell. They can be made again from its files at any time."""

from .view import CellView, cell_view, run_name, unstored_view, validation_errors
from .wandb_runs import live_curves
from .writing import upload_sweep, write_views

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
