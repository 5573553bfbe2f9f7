"""The comparisons of the second edition: paired gains over tables, and what is claimed of them.

The protocol is study/second_edition.md. A gain is an improvement: in points of a metric whose largest value is one, or
in percent of the reference's mean on the table where there is no largest, as of a log-loss or an RMSE.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from scarf_lightning.reporting.learning import FEWEST_CONSTANT
from scarf_lightning.verdicts import Interval, Verdict, answers_together, judge
from scarf_lightning.verdicts.verdict import DECIMALS

from ..results import NONE, SCARF
from ..writing import FEWEST_TABLES, budgets_of

Floats = NDArray[np.float64]

RATE = "corruption.rate=0.3"
REALMLP = "RealMLP"
HALF = f"{SCARF}, {RATE}"
PAPER = f"{SCARF}, paper's recipe"
ON_REALMLP = (f"{REALMLP} with {SCARF}", f"{REALMLP} with {HALF}")
PARTS = ("corruption=mean", "corruption=joint", "views=both", "loss=barlow_twins")
"""The parts of SCARF that `parts.yaml` exchanges, and how competitors with them are called."""
SUBTAB, SWITCHTAB = "SubTab", "SwitchTab"
"""`first_round.yaml` compares the second with the first, which takes part in the study."""
NETWORKS = (
    NONE,
    SCARF,
    HALF,
    "VIME",
    "SCARF AE",
    "binning",
    "target-aware pre-training",
    SUBTAB,
    PAPER,
    REALMLP,
    *ON_REALMLP,
)
PRETRAININGS = tuple(name for name in NETWORKS if name != NONE and not name.startswith(REALMLP))
"""The networks with a pre-training, but for RealMLP."""
LINEAR = "linear model"
"""Logistic regression of classes, ridge regression of numbers: one rival over all tables."""
RIVALS = (LINEAR, "random forest", "HistGradientBoosting", "XGBoost", "CatBoost")
LINEAR_MODELS = ("logistic regression", "ridge regression")
BEST = "best network"
"""On each table the network with the best mean on the other tables."""
COMPETITORS = (*NETWORKS, *RIVALS)
EXTREMES = 3
"""Tables that the first analysis of sensitivity leaves out."""
NEXT = 0.1
"""The share of next tables that the range of expected gains may miss."""


@dataclass(frozen=True)
class Measure:
    """A metric of the study.

    Attributes:
        name: its column among the trials.
        label: what the page calls it.
        target_kind: ``classes`` or ``number``.
        is_loss: true if lower values are better.
        is_relative: true if gains are in percent of the reference's mean on the table, not in points.
    """

    name: str
    label: str
    target_kind: str
    is_loss: bool = False
    is_relative: bool = False

    @property
    def unit(self) -> str:
        return "percent" if self.is_relative else "points"


ACCURACY = Measure("accuracy", "accuracy", "classes")
AUROC = Measure("auroc", "AUROC", "classes")
LOG_LOSS = Measure("log_loss", "log-loss", "classes", is_loss=True, is_relative=True)
RMSE = Measure("rmse", "RMSE", "number", is_loss=True, is_relative=True)
RANK_CORRELATION = Measure("spearman", "rank correlation", "number")
MEASURES = (ACCURACY, AUROC, LOG_LOSS, RMSE, RANK_CORRELATION)


@dataclass(frozen=True)
class Comparison:
    """A competitor beside a reference at one label budget.

    Attributes:
        verdict: on the gains of the tables, as fractions.
        claimed: the answer that survives Holm's correction over the budgets of the pair.
        tables: names of the D tables that have both.
        gains: their mean gains in points or percent, ``(D,)``.
    """

    measure: Measure
    competitor: str
    reference: str
    labels: str
    verdict: Verdict
    claimed: str
    tables: tuple[str, ...]
    gains: Floats

    @cached_property
    def median(self) -> Interval:
        """The median gain with its 95 % interval, in points or percent."""
        return Interval(*(100 * each for each in self.verdict.interval))

    @cached_property
    def mean(self) -> Interval:
        """The mean gain with its 95 % interval, in points or percent; NaN ends below 25 tables."""
        return Interval(*(100 * each for each in self.verdict.average))

    @property
    def expected(self) -> tuple[float, float] | None:
        """The range that holds the measured gain of a next table in nine cases of ten.

        The next of n + 1 exchangeable values lies outside the k-th smallest and the k-th largest of the others with
        a probability of at most 2k / (n + 1), whatever their distribution (Wilks 1941, DOI
        10.1214/aoms/1177731788). None for fewer than 19 tables.
        """
        k = int(NEXT * (len(self.gains) + 1) / 2)
        if k == 0:
            return None
        ordered = np.sort(self.gains)
        return float(ordered[k - 1]), float(ordered[-k])


def parts_of_scarf() -> list[tuple[str, str]]:
    """SCARF with one part exchanged beside SCARF, on the plain network and on RealMLP."""
    pairs = []
    for scarf in (SCARF, f"{REALMLP} with {SCARF}"):
        pairs += [(f"{scarf}, {part}", scarf) for part in (RATE, *PARTS)]
    return pairs


def renamed(trials: pd.DataFrame) -> pd.DataFrame:
    """Trials with one name for both linear models."""
    is_linear = trials["competitor"].isin(LINEAR_MODELS)
    return trials.assign(competitor=trials["competitor"].where(~is_linear, LINEAR))


def prepared(trials: pd.DataFrame) -> pd.DataFrame:
    """Trials as the comparisons take them: renamed, without broken rows, and with those of the best network."""
    named = renamed(trials)
    broken = broken_rows(named)
    is_broken = pd.Series(list(zip(named["competitor"], named["labels"], strict=True))).isin(broken).to_numpy()
    named = named[~is_broken]
    best = [best_network(part) for _, part in named.groupby("labels")]
    return pd.concat([named, *best], ignore_index=True)


def broken_rows(trials: pd.DataFrame) -> list[tuple[str, str]]:
    """The competitors that predict one class in a third of their trials at a budget: ``(competitor, labels)``. They are
    broken, not weak, so they are compared with nothing.

    Trials whose labels are of one class do not count.
    """
    shares = learnable(trials).groupby(["competitor", "labels"])["one_class"].mean()
    return list(shares.index[shares >= FEWEST_CONSTANT])


def learnable(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials of classes whose labels are of two classes and more."""
    return trials[(trials["classes"] > 0) & (trials["n_label_classes"] > 1)]


def best_network(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials, at one label budget, of the network that is best on the other tables, as a competitor of its own.

    By the mean accuracy of classes, and the mean rank correlation of numbers. No table helps to choose its own network.
    """
    chosen = []
    for measure in (ACCURACY, RANK_CORRELATION):
        networks = trials[trials["competitor"].isin(NETWORKS)]
        means = networks.pivot_table(index="dataset", columns="competitor", values=measure.name).dropna()
        if len(means) < 2:
            continue
        others = (means.sum() - means) / (len(means) - 1)
        keys = pd.DataFrame({"dataset": means.index, "competitor": others.idxmax(axis=1).to_numpy()})
        chosen.append(networks.merge(keys))
    return pd.concat(chosen).assign(competitor=BEST) if chosen else trials.head(0)


def differences(
    trials: pd.DataFrame, measure: Measure, competitor: str, reference: str, labels: str
) -> tuple[Floats, tuple[str, ...]]:
    """Paired gains ``(D, T)`` at one label budget as fractions, NaN where there is no pair; and the D tables."""
    part = trials[(trials["labels"] == labels) & trials["competitor"].isin([competitor, reference])]
    wide = part.pivot_table(index=["dataset", "trial"], columns="competitor", values=measure.name)
    pairs = wide.reindex(columns=[competitor, reference]).dropna()
    gains = pairs[competitor] - pairs[reference]
    if measure.is_loss:
        gains = -gains
    if measure.is_relative:
        gains = gains / pairs[reference].groupby("dataset").transform("mean")
    values = gains.reset_index(name="gain").pivot_table(index="dataset", columns="trial", values="gain")
    return values.to_numpy(dtype=np.float64), tuple(values.index)


def compare(
    trials: pd.DataFrame,
    measure: Measure,
    competitor: str,
    reference: str,
    budgets: Sequence[str],
    without: Sequence[str] = (),
    extremes: int = 0,
) -> list[Comparison]:
    """The comparisons of a pair at each budget that has tables enough, claimed together (Holm 1979).

    Args:
        trials: as `prepared` returns them.
        without: tables that are left out.
        extremes: how many tables of the largest differences are left out at each budget.
    """
    kept = trials[~trials["dataset"].isin(without)]
    known = []
    for labels in budgets:
        values, tables = differences(kept, measure, competitor, reference, labels)
        if len(tables) < FEWEST_TABLES + extremes:
            continue
        gains = np.nanmean(values, axis=1).round(DECIMALS)
        order = np.argsort(-np.abs(gains), kind="stable")
        rows = np.sort(order[extremes:])
        known.append((labels, judge(values[rows]), tuple(tables[row] for row in rows), 100 * gains[rows]))
    claims = answers_together([verdict for _, verdict, _, _ in known]) if known else []
    compared = []
    for (labels, verdict, tables, gains), claimed in zip(known, claims, strict=True):
        compared.append(Comparison(measure, competitor, reference, labels, verdict, claimed, tables, gains))
    return compared


def confirming(trials: pd.DataFrame) -> list[str]:
    """The tables of CC18, which confirmed the recipe."""
    is_of_openml = trials["dataset_id"].notna()
    return sorted(trials.loc[is_of_openml, "dataset"].unique())


def levels(trials: pd.DataFrame, measure: Measure) -> tuple[pd.DataFrame, int]:
    """Means over the tables that have every competitor at every budget: a row a competitor, a column a budget.

    Returns:
        The means, of a metric with a largest value in percent, and the number of tables.
    """
    known = trials[trials["competitor"].isin(COMPETITORS)].dropna(subset=[measure.name])
    means = known.pivot_table(index="dataset", columns=["labels", "competitor"], values=measure.name).dropna()
    averages = means.mean().reset_index(name="mean").pivot_table(index="competitor", columns="labels", values="mean")
    names = [name for name in COMPETITORS if name in averages.index]
    scale = 1 if measure.is_relative else 100
    return scale * averages.loc[names, budgets_of(trials)], len(means)


def sanity(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials of each competitor whose labels are of two classes and more, and those of them that predict one class.

    Returns:
        A row a competitor: ``trials, one_class``, and the mean balanced accuracy at the smallest budget less that of
        guesses, in points, as ``above_guesses``.
    """
    known = learnable(trials)
    of_classes = known[known["competitor"].isin(COMPETITORS)]
    grouped = of_classes.groupby("competitor")
    smallest = of_classes[of_classes["labels"] == budgets_of(of_classes)[0]]
    above = smallest["balanced_accuracy"] - 1 / smallest["classes"]
    by_table = above.groupby([smallest["competitor"], smallest["dataset"]]).mean()
    counts: dict[str, Any] = {
        "trials": grouped.size(),
        "one_class": grouped["one_class"].sum().astype(int),
        "above_guesses": 100 * by_table.groupby("competitor").mean(),
    }
    rows = pd.DataFrame(counts)
    return rows.loc[[name for name in COMPETITORS if name in rows.index]]


def explained(trials: pd.DataFrame) -> pd.DataFrame:
    """The number of tables on which the mean R2 of a competitor is above zero, that of the mean of the labels.

    Returns:
        A row a competitor, a column a budget.
    """
    numbers = trials[(trials["classes"] == 0) & trials["competitor"].isin(COMPETITORS)]
    means = numbers.pivot_table(index=["competitor", "dataset"], columns="labels", values="r2")
    counts = (means > 0).groupby("competitor").sum()
    return counts.loc[[name for name in COMPETITORS if name in counts.index], budgets_of(numbers)]
