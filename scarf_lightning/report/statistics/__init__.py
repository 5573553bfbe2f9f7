"""Statistics of scores: who beats whom, by how much, and how sure one can be.

Most functions take ``scores``, a long frame: ``dataset``; ``competitor``, a name; ``trial``, a whole number; ``value``,
higher is better. Trials and whole cells may be missing: the functions count and name what they leave out. `scores_of`
makes scores from results.
"""

from ...intervals import TEST_TO_TRAIN, Interval, mean_interval, overlap_ratio
from .intervals import datasets_interval, fixed_error, outlying
from .pairs import (
    Grid,
    Test,
    TTest,
    WinMatrix,
    against,
    compare,
    gain_table,
    holm,
    paired_test,
    reference_win_matrix,
    relative_gains,
    surviving_wins,
    welch_test,
    win_matrix,
)
from .ranks import FriedmanTest, Ranking, friedman_test, rank_competitors, wilcoxon_cliques, wilcoxon_tests
from .scores import CELL, Pair, ScoreArray, cell_means, pretraining_grid, score_array, scores_of
from .verdict import Verdict, answers_together, judge, judge_fixed

__all__ = [
    "CELL", "TEST_TO_TRAIN", "FriedmanTest", "Grid", "Interval", "Pair", "Ranking", "ScoreArray", "TTest", "Test",
    "Verdict", "WinMatrix", "against", "answers_together", "cell_means", "compare", "datasets_interval", "fixed_error",
    "friedman_test", "gain_table", "holm", "judge", "judge_fixed", "mean_interval", "outlying", "overlap_ratio",
    "paired_test", "pretraining_grid", "rank_competitors", "reference_win_matrix", "relative_gains", "score_array",
    "scores_of", "surviving_wins", "welch_test", "wilcoxon_cliques", "wilcoxon_tests", "win_matrix",
]  # fmt: skip
