"""One object carries a cell from its data to its record."""

from .cell_training import CellTraining
from .trained_stack import TrainedStack

__all__ = ["CellTraining", "TrainedStack"]
