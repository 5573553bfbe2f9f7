"""The two figures of the second edition: gains by number of labels, and gains by table."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scarf_lightning.reporting.style import GREY, PAGE, colour, marker, new_figure, styled
from scarf_lightning.verdicts import mean_interval, overlap_ratio

from ..results import ALL, NONE, SCARF
from .comparisons import (
    ACCURACY,
    LINEAR,
    RATE,
    REALMLP,
    RMSE,
    Comparison,
    Measure,
    differences,
    levels,
)

DRAWN = (NONE, f"{SCARF}, {RATE}", REALMLP, f"{REALMLP} with {SCARF}, {RATE}", LINEAR, "random forest", "CatBoost")
"""The competitors whose means are drawn; all are in the page's table."""
SIZES = ("n_test", "n_train", "n_labelled")
MARGIN = 1.0
"""Points or percent that make no practical difference."""


@styled()
def learning_curves(trials: pd.DataFrame, gains: Sequence[Comparison]) -> Figure:
    """Mean accuracy by number of labels, and beside it the median gain of each pre-training with its 95 % interval."""
    means, n_tables = levels(trials, ACCURACY)
    figure, (left, right) = new_figure(PAGE, 3.7, 1, 2)
    budgets = list(means.columns)
    for place, name in enumerate(each for each in DRAWN if each in means.index):
        line = "-" if place < 4 else "--"
        left.plot(
            range(len(budgets)),
            means.loc[name],
            line,
            color=colour(place),
            marker=marker(place),
            ms=3,
            label=_short(name),
        )
    left.set_title(f"accuracy, %, mean of {n_tables} tables")
    names = list(dict.fromkeys((each.competitor, each.reference) for each in gains))
    for place, pair in enumerate(names):
        part = [each for each in gains if (each.competitor, each.reference) == pair]
        shift = (place - (len(names) - 1) / 2) * 0.8 / len(names)
        at = [budgets.index(each.labels) + shift for each in part]
        median = np.array([each.median for each in part])
        error = [median[:, 0] - median[:, 1], median[:, 2] - median[:, 0]]
        competitor, reference = pair
        label = _short(competitor) if reference == NONE else f"{_short(competitor)}, over {reference}"
        right.errorbar(at, median[:, 0], error, fmt=marker(place), color=colour(place), ms=3, lw=0.9, label=label)
    _with_margin(right, horizontal=True)
    right.set_title("median gain of a pre-training, points")
    for axes in (left, right):
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False, fontsize=6)
        axes.set_xticks(range(len(budgets)), budgets)
        axes.set_xlabel("labels")
    return figure


@styled()
def gains_by_table(trials: pd.DataFrame, competitor: str, reference: str, budgets: Sequence[str]) -> Figure:
    """The gain on each table with the table's own 95 % interval: classes above, numbers below, a column a budget."""
    sizes = [_n_tables(trials, measure) for measure in (ACCURACY, RMSE)]
    figure, panels = new_figure(
        PAGE, 1.3 + 0.115 * sum(sizes), 2, len(budgets), height_ratios=sizes, sharey="row", sharex="row"
    )
    for row, measure in enumerate((ACCURACY, RMSE)):
        order: list[str] = []
        for column, labels in enumerate(budgets):
            axes = panels[row * len(budgets) + column]
            gains = intervals_by_table(trials, measure, competitor, reference, labels)
            order = order or gains.sort_values("gain").index.tolist()
            gains = gains.reindex(order)
            error = np.nan_to_num([gains["gain"] - gains["low"], gains["high"] - gains["gain"]])
            axes.errorbar(gains["gain"], range(len(order)), xerr=error, fmt="o", color=colour(0), ms=2.5, lw=0.7)
            _with_margin(axes, horizontal=False)
            axes.set_title("all labels" if labels == ALL else f"{labels} labels")
            axes.set_xlabel(f"gain, {measure.unit} of {measure.label}")
        panels[row * len(budgets)].set_yticks(range(len(order)), order, fontsize=5.5)
    return figure


def intervals_by_table(
    trials: pd.DataFrame, measure: Measure, competitor: str, reference: str, labels: str
) -> pd.DataFrame:
    """The mean gain on each table with the interval of the corrected resampled t-test (Nadeau and Bengio 2003).

    Returns:
        A row a table, ``gain, low, high`` in points or percent; the ends are NaN below three trials.
    """
    values, tables = differences(trials, measure, competitor, reference, labels)
    of_budget = trials[(trials["labels"] == labels) & (trials["competitor"] == reference)]
    facts = of_budget.drop_duplicates("dataset").set_index("dataset")
    sizes = facts.loc[list(tables), list(SIZES)].to_numpy(dtype=np.float64)
    rows = []
    for gains, (n_test, n_train, n_labelled) in zip(values, sizes, strict=True):
        ratio = overlap_ratio(n_test, n_train, n_labelled)
        rows.append([100 * each for each in mean_interval(gains[np.isfinite(gains)], ratio)])
    return pd.DataFrame(rows, index=pd.Index(tables, name="dataset"), columns=["gain", "low", "high"])


def _short(competitor: str) -> str:
    """A name for a legend."""
    return competitor.replace(RATE, "rate 0.3")


def _n_tables(trials: pd.DataFrame, measure: Measure) -> int:
    """The number of tables that have a metric."""
    return int(trials.dropna(subset=[measure.name])["dataset"].nunique())


def _with_margin(axes: Axes, *, horizontal: bool) -> None:
    """Draw the line of no gain, and the band of no practical difference."""
    line, band = (axes.axhline, axes.axhspan) if horizontal else (axes.axvline, axes.axvspan)
    line(0, color=GREY, lw=0.6, zorder=0)
    band(-MARGIN, MARGIN, color=GREY, alpha=0.12, lw=0, zorder=0)
