"""What a report compares where nobody says: each pre-training with none, or else each setting with the usual one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ..metrics import Metric
from .loading import CellResults
from .naming import Words, distinguishing, named_by, value_in_words
from .report_options import ReportOptions
from .statistics import Verdict, answers_together, welch_test
from .statistics.scores import Floats, mean_of, variance_of
from .statistics.verdict import Answer
from .verdicts import verdict_of

CONTEXT = ("regime", "seed")
"""Columns across which nothing is compared, unless they are all that varies."""
NOTHING = "no pre-training"
PAIRS = ["cell", "reference", "context", "name", "reference_name"]
"""The columns of pairs of cells, see `against_none`."""
MOST_IN_A_FOREST = 12
"""Datasets that have a line each in the first figure."""


@dataclass(frozen=True)
class Comparison:
    """A setting beside its reference.

    Attributes:
        context: what both share and other comparisons do not, or how many labels; empty if there are no others.
        name, reference: what the two are called.
        pairs: labels of their cells, ``(cell, reference)`` a dataset.
        verdict: on their differences.
        means: the mean difference on each dataset, as ``pairs``.
        by_dataset: over several datasets, the verdict on each, as ``pairs``.
        claimed: the answer that may be claimed together with those of all other comparisons of the page; over the
            number of labels, with those of the same competitor, which are told in one sentence.
        welch: datasets won and lost by the test of the options, the paper's by default, and those not decided by it.
        labels: how many labels training sees, infinity for all; None where cells do not differ in it.
    """

    context: str
    name: str
    reference: str
    pairs: Sequence[tuple[int, int]]
    verdict: Verdict
    welch: tuple[int, int, int]
    claimed: Answer = "cannot tell yet"
    by_dataset: tuple[Verdict, ...] = ()
    means: tuple[float, ...] = ()
    labels: float | None = None

    @property
    def label(self) -> str:
        return f"{self.name} ({self.context})" if self.context else self.name


def compare_all(results: CellResults, options: ReportOptions) -> list[Comparison]:
    """Every comparison of which both sides have a trial, best first."""
    pairs = over_labels(results)
    if pairs.empty:
        pairs = against_none(results)
    if pairs.empty:
        pairs = against_usual(results)
    values = _trial_values(results, options)
    found = []
    several = "labels" in pairs or len(set(pairs["context"])) > 1
    for (context, name), group in pairs.groupby(["context", "name"], sort=False):
        known = group[group["cell"].isin(values.index) & group["reference"].isin(values.index)]
        if known.empty:
            continue
        first, second = (values.loc[known[side]].to_numpy() for side in ("cell", "reference"))
        sizes = sizes_of(second, options.measure)
        differences = (first - second) / sizes[:, None]
        verdict = verdict_of(results, known, differences, sizes, options)
        each_dataset = [
            verdict_of(results, known.iloc[[place]], differences[[place]], sizes[[place]], options)
            for place in range(len(known))
            if 1 < len(known) <= MOST_IN_A_FOREST
        ]
        found.append(
            Comparison(
                str(context) if several else "",
                str(name),
                str(known["reference_name"].iloc[0]),
                list(zip(known["cell"], known["reference"], strict=True)),
                verdict,
                _welch_outcomes(first, second, options.alpha),
                by_dataset=tuple(each_dataset),
                means=tuple(mean_of(differences).tolist()),
                labels=float(known["labels"].iloc[0]) if "labels" in known else None,
            )
        )
    families: dict[str, list[Comparison]] = {}
    for each in found:
        families.setdefault("" if each.labels is None else each.name, []).append(each)
    found = [
        replace(each, claimed=answer)
        for family in families.values()
        for each, answer in zip(family, answers_together([each.verdict for each in family]), strict=True)
    ]
    return sorted(found, key=lambda each: -np.nan_to_num(each.verdict.difference, nan=-np.inf))


def over_labels(results: CellResults) -> pd.DataFrame:
    """Cells beside the network without pre-training of as many labels, where cells differ in their number alone.

    Returns:
        As `against_none`, with the number of ``labels``, infinity for all. Empty where cells do not differ in it, or
        differ in it and in other things that have no common reference.
    """
    cells = results.cells
    asked = zip(cells["regime"], cells.get("regime.labels", cells["regime"]), strict=True)
    labels = pd.Series([_labels_of(regime, number) for regime, number in asked], index=cells.index, dtype=float)
    is_reference = cells["pretrain"].eq("none") & cells["method"].eq("control")
    places = pd.Series(list(zip(cells["dataset"], labels, strict=True)), index=cells.index)
    reference = {place: label for label, place in places[is_reference].items()}
    if labels.isna().any() or labels.nunique() < 2 or len(reference) < is_reference.sum():
        return pd.DataFrame()
    options = [
        column for column in results.axes if column.partition(".")[0] not in ("dataset", "regime", "pretrain", "method")
    ]
    names = []
    for told, its in (
        ("pretrain", cells[cells["pretrain"].ne("none")]),
        ("method", cells[~is_reference & cells["pretrain"].eq("none")]),
    ):
        also = "method" if told == "pretrain" else "pretrain"
        names.append(named_by(its, [told, *distinguishing(its, [also, *options], beyond=[told])], results.words))
    name_of = pd.concat(names)
    return pd.DataFrame(
        [
            (cell, reference[places[cell]], _labels_in_words(labels[cell]), name_of[cell], NOTHING, labels[cell])
            for cell in cells.index[~is_reference]
            if places[cell] in reference
        ],
        columns=[*PAIRS, "labels"],
    )


def _labels_of(regime: str, number: Any) -> float:
    """How many labels a regime leaves: infinity for all, NaN where it says something else of them."""
    return math.inf if regime == "full" else float(number) if regime == "few" else math.nan


def _labels_in_words(labels: float) -> str:
    if labels == math.inf:
        return "all labels"
    return f"{labels:g} labels" if labels >= 1 else f"{100 * labels:g} % of the labels"


def against_none(results: CellResults) -> pd.DataFrame:
    """Cells with a pre-training, beside those that differ from them by having none.

    Returns:
        A row a pair of cells: ``cell, reference``, labels of `CellResults.cells`; ``context``, what both share;
        ``name``, the pre-training and what cells of the same one differ in; ``reference_name``.
    """
    cells = results.cells
    pairs = []
    options = [column for column in results.axes if column not in ("dataset", "pretrain")]
    for _, of_method in cells.groupby("method", sort=False):
        without = of_method[of_method["pretrain"] == "none"]
        with_one = of_method[of_method["pretrain"] != "none"]
        if without.empty or with_one.empty:
            continue
        shared = [column for column in options if without[column].notna().any()]
        keys = ["dataset", *shared]
        reference = {tuple(row): label for label, row in zip(without.index, without[keys].to_numpy(), strict=True)}
        told = ["regime", "method"]
        contexts = named_by(with_one, [*told, *distinguishing(without, shared, beyond=told)], results.words)
        own = [column for column in options if column not in shared]
        names = _names(with_one, own, results.words)
        for label, key in zip(with_one.index, with_one[keys].to_numpy(), strict=True):
            if tuple(key) in reference:
                pairs.append((label, reference[tuple(key)], contexts[label], names[label], NOTHING))
    return pd.DataFrame(pairs, columns=PAIRS)


def against_usual(results: CellResults) -> pd.DataFrame:
    """Cells beside the one of the same dataset and context that is nearest to what is usual; as `against_none`."""
    cells = results.cells
    different = distinguishing(cells, results.axes)
    contexts = [column for column in CONTEXT if column in different]
    compared = [column for column in different if column not in contexts]
    if not compared:
        contexts, compared = [], contexts
    if not compared:
        return pd.DataFrame(columns=PAIRS)
    settings = cells[compared].to_dict("index")
    unusual = pd.Series(
        [sum(v != results.usual.get(str(c)) for c, v in setting.items()) for setting in settings.values()],
        index=cells.index,
    )
    recipes = _recipes(cells, compared)
    names = named_by(cells, compared, results.words) if recipes is None else recipes
    shared = named_by(cells, contexts, results.words) if contexts else pd.Series("", index=cells.index)
    pairs: list[tuple[Any, ...]] = []
    for context in dict.fromkeys(shared):
        inside = cells.index[shared == context]
        usual = names.loc[unusual.loc[inside].sort_values(kind="stable").index[0]]
        reference = {cells.loc[label, "dataset"]: label for label in inside if names[label] == usual}
        called = str(usual)
        if len(compared) == 1 and recipes is None:
            called = value_in_words(compared[0], cells.loc[names.index[names == usual][0], compared[0]], results.labels)
        pairs += [
            (label, reference[cells.loc[label, "dataset"]], context, names[label], called)
            for label in inside
            if names[label] != usual and cells.loc[label, "dataset"] in reference
        ]
    return pd.DataFrame(pairs, columns=PAIRS)


def _recipes(cells: pd.DataFrame, columns: list[str]) -> "pd.Series[str] | None":
    """What cells are called by their recipes, if these tell them apart as the columns do; the columns are then a few of
    the options that recipes set."""
    asked = cells["overrides"].map(lambda overrides: [each for each in overrides if each.startswith("recipe=")])
    if not asked.map(bool).all():
        return None
    recipes = asked.map(lambda each: f"recipe {each[-1].partition('=')[2]}")
    together = cells[columns].astype(str).assign(recipe=recipes).drop_duplicates()
    apart = recipes.nunique()
    return recipes if apart == len(together) == len(together[columns].drop_duplicates()) else None


def _names(cells: pd.DataFrame, columns: list[str], words: Words) -> "pd.Series[str]":
    """Pre-trainings, with the options in which cells of the same one differ."""
    named = []
    for _, same in cells.groupby("pretrain", sort=False):
        own = distinguishing(same, columns)
        named.append(named_by(same, ["pretrain", *own], words if len(own) > 1 else Words(labels=words.labels)))
    return pd.concat(named)


def _trial_values(results: CellResults, options: ReportOptions) -> pd.DataFrame:
    """The metric, higher is better, ``(cells, trials)``."""
    metric = options.measure
    trials = results.trials.dropna(subset=[metric.name])
    return metric.sign * trials.pivot_table(index="cell", columns="trial", values=metric.name)


def sizes_of(references: Floats, metric: Metric) -> Floats:
    """What differences on each of D datasets are divided by, from trials of the reference ``(D, T)``: the size of its
    mean where a metric is judged in percent of it, else 1. A reference of zero is not divided by."""
    sizes = np.abs(mean_of(references))
    return np.where(sizes > 0, sizes, 1.0) if metric.is_relative else np.ones_like(sizes)


def _welch_outcomes(first: Floats, second: Floats, alpha: float) -> tuple[int, int, int]:
    """Datasets won, lost and not decided by Welch's test, the paper's procedure."""
    sides = [(mean_of(each), variance_of(each), np.isfinite(each).sum(axis=1)) for each in (first, second)]
    significant = welch_test(*sides[0], *sides[1]).p < alpha
    better = sides[0][0] > sides[1][0]
    wins, losses = int((significant & better).sum()), int((significant & ~better).sum())
    return wins, losses, len(first) - wins - losses
