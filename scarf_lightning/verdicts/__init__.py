"""Statistics of results: who beats whom, by how much, and how sure one can be.

`compare` is the door: a long frame of metrics or predictions in, effects out. `effects` says which effects there are,
`trials` and `answers` how sure each is, and `pairs` has the paper's win matrices and gains.

SciPy is imported by the functions that use it, so that a run that has nothing to compare ends sooner.
"""

from ..intervals import Interval
from .answers import Answer, Levels, Look, Verdict, after_looks, needed_together
from .compare import ComparedResults, compare
from .effects import Cell, Effect, Plan, Product, answered, effects_of, frame_of
from .pairs import (
    CELL,
    Pair,
    Test,
    WinMatrix,
    cell_means,
    compared_pairs,
    gain_table,
    reference_win_matrix,
    relative_gains,
    win_matrix,
)
from .rows_and_fits import ErrorParts, error_parts
from .trials import Trials, judge, judge_tables, median_gain

__all__ = [
    "CELL", "Answer", "Cell", "ComparedResults", "Effect", "ErrorParts", "Interval", "Levels", "Look", "Pair", "Plan",
    "Product", "Test", "Trials", "Verdict", "WinMatrix", "after_looks", "answered", "cell_means", "compare",
    "compared_pairs", "effects_of", "error_parts", "frame_of", "gain_table", "judge", "judge_tables", "median_gain",
    "needed_together", "reference_win_matrix", "relative_gains", "win_matrix",
]  # fmt: skip
