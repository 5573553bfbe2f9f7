"""The bounds of the protocol: what networks with few labels must reach, and the trials in which they do not."""

import pandas as pd

from .trials import BUDGETS, CONSTANT, LINEAR, NETWORKS, TRIAL

MOST_BEHIND = pd.Series(0.5, BUDGETS)
MOST_WORSE = pd.Series({20: 20, 50: 20, 100: 10, 500: 10})
MOST_ONE_CLASS = pd.Series({"all": 1})


def bounds(trials: pd.DataFrame, means: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """By the sentence on a bound: a row a network, whose name says whether the bound is met, and a column a budget.

    Args:
        trials: of classes.
        means: over trials of AUROC, as `comparisons.means_of` gives them.
    """
    linear = means.xs(LINEAR, axis="columns", level="competitor")
    behind = -means.sub(linear, level="labels").mean().unstack("labels")  # noqa: PD010 - every pair occurs once
    comparable = trials[~_beside(trials, LINEAR, "one_class").astype(bool)].astype({"one_class": float})
    alone = _percent(comparable["one_class"], comparable)
    alone["all"] = 100 * comparable.groupby("competitor")["one_class"].mean()
    return {
        "points of AUROC behind logistic regression, at most 0.5": _beside_bound(behind, MOST_BEHIND),
        "percent of trials whose log-loss is above that of the class frequencies of the labels, at most 20 with 20 "
        "and 50 labels, and 10 with 100 and 500": _beside_bound(worse_than_constant(trials, "log_loss"), MOST_WORSE),
        "percent of trials with one class for all test rows, of those in which logistic regression predicts several, "
        "at most 1 of all": _beside_bound(alone, MOST_ONE_CLASS),
    }


def worse_than_constant(trials: pd.DataFrame, loss: str) -> pd.DataFrame:
    """Percent of trials whose loss is above the constant's with the same labels, by competitor and number of labels."""
    # Rounding alone makes no trial worse.
    return _percent(trials[loss] > (1 + 1e-9) * _beside(trials, CONSTANT, loss), trials)


def _beside_bound(figures: pd.DataFrame, most: pd.Series) -> pd.DataFrame:
    """The figures of networks, by their names with whether none is above its bound."""
    networks = figures.loc[[*NETWORKS]]
    are_met = (networks[most.index] <= most).all(axis="columns").map({True: "met", False: "not met"})
    return networks.set_axis(networks.index + ": " + are_met)


def _beside(trials: pd.DataFrame, competitor: str, column: str) -> pd.Series:
    """The value of a competitor with the labels of each trial."""
    values = trials[trials["competitor"] == competitor].set_index(TRIAL)[column]
    return trials[TRIAL].join(values, on=TRIAL)[column]


def _percent(are_marked: pd.Series, trials: pd.DataFrame) -> pd.DataFrame:
    shares = are_marked.groupby([trials["competitor"], trials["labels"]]).mean()
    return 100 * shares.unstack("labels")  # noqa: PD010 - every pair occurs once
