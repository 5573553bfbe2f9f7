"""Statistics of results: who beats whom, by how much, and how sure one can be.

`compare` is the door: a long frame of metrics or predictions in, effects out. `effects` says which effects there are,
`trials` and `verdict` how sure each is, and `pairs` has the paper's win matrices and gains.

SciPy is imported by the functions that use it, so that a run that has nothing to compare ends sooner.
"""

from ..intervals import Interval
from .answers import ANSWERS, Answer, Levels, answer_of, needed_together
from .compare import ComparedResults, compare
from .effects import Cell, Effect, Plan, Product, answered, effects_of, frame_of
from .influence import added_values, row_values
from .looks import Look
from .pairs import (
    CELL,
    Grid,
    Pair,
    Test,
    WinMatrix,
    cell_means,
    compared_pairs,
    gain_table,
    holm,
    pretraining_grid,
    reference_win_matrix,
    relative_gains,
    scores_of,
    win_matrix,
)
from .rows_and_fits import ErrorParts, error_parts, rows_interval, unseen_values
from .trials import Trials, verdict_on
from .verdict import (
    Verdict,
    after_looks,
    chance_of_answer,
    judge,
    judge_rows,
    judge_tables,
    median_gain,
)
from .worth import Worth, worth_in_labels

__all__ = [
    "ANSWERS", "CELL", "Answer", "Cell", "ComparedResults", "Effect", "ErrorParts", "Grid", "Interval", "Levels",
    "Look", "Pair", "Plan", "Product", "Test", "Trials", "Verdict", "WinMatrix", "Worth", "added_values",
    "after_looks", "answer_of", "answered", "cell_means", "chance_of_answer",
    "compare", "compared_pairs", "effects_of", "error_parts", "frame_of", "gain_table", "holm", "judge", "judge_rows",
    "judge_tables", "median_gain", "needed_together", "pretraining_grid", "reference_win_matrix", "relative_gains",
    "row_values", "rows_interval", "scores_of", "unseen_values", "verdict_on", "win_matrix", "worth_in_labels",
]  # fmt: skip
