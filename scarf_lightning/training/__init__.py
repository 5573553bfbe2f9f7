"""One object carries a cell from its data to its record."""

from .cell_training import CellTraining
from .pretraining import Start
from .trained_stack import TrainedStack

__all__ = ["CellTraining", "Start", "TrainedStack"]
