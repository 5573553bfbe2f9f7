"""Statistics of scores: who beats whom, by how much, and how sure one can be.

Most functions take ``scores``, a long frame: ``dataset``; ``competitor``, a name; ``trial``, a whole number; ``value``,
higher is better. Trials and whole cells may be missing: what that leaves out is counted and named. `scores_of` makes
scores of results.
"""

from .agreement import agreement, agreement_summary
from .cells import cell_means, pretraining_grid, scores_of
from .cliques import nemenyi_cliques, wilcoxon_cliques, wilcoxon_tests
from .comparisons import Grid, Pair, Test, against, compare
from .gains import gain_table, relative_gains
from .ranks import FriedmanTest, Ranking, friedman_test, nemenyi_critical_difference, rank_competitors
from .scores import ScoreArray, score_array
from .significance import TEST_TO_TRAIN, TTest, holm, paired_test, welch_test
from .verdict import Verdict, judge
from .wins import WinMatrix, reference_win_matrix, surviving_wins, win_matrix

__all__ = [
    "TEST_TO_TRAIN",
    "FriedmanTest",
    "Grid",
    "Pair",
    "Ranking",
    "ScoreArray",
    "TTest",
    "Test",
    "Verdict",
    "WinMatrix",
    "against",
    "agreement",
    "agreement_summary",
    "cell_means",
    "compare",
    "friedman_test",
    "gain_table",
    "holm",
    "judge",
    "nemenyi_cliques",
    "nemenyi_critical_difference",
    "paired_test",
    "pretraining_grid",
    "rank_competitors",
    "reference_win_matrix",
    "relative_gains",
    "score_array",
    "scores_of",
    "surviving_wins",
    "welch_test",
    "wilcoxon_cliques",
    "wilcoxon_tests",
    "win_matrix",
]
