"""Statistics of results: who beats whom, by how much, and how sure one can be.

`compare` is the door: a long frame of metrics or predictions in, effects out. `planning` says which effects there are,
`trials` and `verdict` how sure each is, and `pairs` has the paper's win matrices and gains.

SciPy is imported by the functions that use it, so that a run that has nothing to compare ends sooner.
"""

from ..intervals import Interval
from .answers import ANSWERS, Answer, Levels, answer_of
from .centres import median_gain, median_levels
from .compare import ComparedResults, compare
from .effects import Cell, Effect, answered, frame_of
from .influence import added_values, row_values
from .looks import Look
from .pairs import (
    CELL,
    Grid,
    Pair,
    Test,
    WinMatrix,
    against,
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
from .planning import Plan, Product, effects_of
from .power import chance_of_answer
from .rows_and_fits import ErrorParts, error_parts, unseen_values
from .trials import Trials, combined, verdict_on
from .verdict import Verdict, answers_together, judge, judge_rows, judge_tables, rows_interval
from .worth import Worth, worth_in_labels

__all__ = [
    "ANSWERS", "CELL", "Answer", "Cell", "ComparedResults", "Effect", "ErrorParts", "Grid", "Interval", "Levels",
    "Look", "Pair", "Plan", "Product", "Test", "Trials", "Verdict", "WinMatrix", "Worth", "added_values", "against",
    "answer_of", "answered", "answers_together", "cell_means", "chance_of_answer", "combined", "compare",
    "compared_pairs", "effects_of", "error_parts", "frame_of", "gain_table", "holm", "judge", "judge_rows",
    "judge_tables", "median_gain", "median_levels", "pretraining_grid", "reference_win_matrix", "relative_gains",
    "row_values", "rows_interval", "scores_of", "unseen_values", "verdict_on", "win_matrix", "worth_in_labels",
]  # fmt: skip
