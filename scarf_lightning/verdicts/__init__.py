"""Statistics of scores: who beats whom, by how much, and how sure one can be.

`compare` is the door: a frame of metrics or predictions in, verdicts out.

Most functions take ``scores``, a long frame: ``dataset``; ``competitor``, a name; ``trial``, a whole number; ``value``,
higher is better. Trials and whole cells may be missing: the functions count and name what they leave out. `scores_of`
makes scores from results.

SciPy is imported by the functions that use it, so that a run that has nothing to compare ends sooner.
"""

from ..intervals import TEST_TO_TRAIN, Interval, mean_interval, overlap_ratio
from .answers import ANSWERS, Answer, Levels, answer_of
from .centres import median_gain, median_levels
from .compare import ComparedResults, compare
from .effects import Cell, Effect, answered, frame_of
from .influence import added_values, row_values
from .pairs import (
    Grid,
    Test,
    TTest,
    WinMatrix,
    against,
    compared_pairs,
    gain_table,
    holm,
    paired_test,
    reference_win_matrix,
    relative_gains,
    welch_test,
    win_matrix,
)
from .power import chance_of_answer
from .rows_and_fits import ErrorParts, error_parts, unseen_values
from .scores import CELL, Pair, ScoreArray, cell_means, pretraining_grid, score_array, scores_of
from .trials import Trials, combined, verdict_on
from .verdict import Verdict, answers_together, judge, judge_rows, judge_tables, rows_interval
from .worth import Worth, worth_in_labels

__all__ = [
    "ANSWERS", "CELL", "TEST_TO_TRAIN", "Answer", "Cell", "ComparedResults", "Effect", "ErrorParts",
    "Grid", "Interval", "Levels", "Pair", "ScoreArray", "TTest", "Test", "Trials", "Verdict",
    "WinMatrix", "Worth", "added_values", "against", "answer_of", "answered", "answers_together", "cell_means",
    "chance_of_answer", "combined", "compare", "compared_pairs", "error_parts", "frame_of",
    "gain_table", "holm", "judge", "judge_rows", "judge_tables",
    "mean_interval", "median_gain", "median_levels", "overlap_ratio", "paired_test",
    "pretraining_grid", "reference_win_matrix", "relative_gains", "row_values", "rows_interval",
    "score_array", "scores_of", "unseen_values", "verdict_on", "welch_test",
    "win_matrix", "worth_in_labels",
]  # fmt: skip
