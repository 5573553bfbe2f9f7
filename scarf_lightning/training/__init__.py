"""One object carries a cell from its data to its record."""

from .cell_training import CellTraining
from .start import Start
from .trained_stack import TrainedStack

__all__ = ["CellTraining", "Start", "TrainedStack"]
