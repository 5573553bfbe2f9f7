"""What a report compares: each pre-training with none, or else each setting with the usual one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .competitors import distinguishing, named_by, value_in_words
from .loading import CellResults
from .report_options import ReportOptions
from .statistics import Verdict, answers_together, welch_test
from .statistics.scores import Floats, mean_of, variance_of
from .statistics.verdict import Answer
from .verdicts import verdict_of

CONTEXT = ("regime", "seed")
"""Columns across which nothing is compared, unless they are all that varies."""
NOTHING = "no pre-training"
MOST_IN_A_FOREST = 12
"""Datasets that have a line each in the first figure."""


class Pair(NamedTuple):
    """Two cells of one dataset that are compared: their labels in `CellResults.cells`, what both share, what the two
    are called, and how many labels training sees, infinity for all; None if cells do not differ in it."""

    cell: int
    reference: int
    context: str
    name: str
    reference_name: str
    labels: float | None = None


@dataclass(frozen=True)
class Comparison:
    """A setting beside its reference.

    Attributes:
        context: what both share and other comparisons do not, or how many labels; empty if there are no others.
        name, reference: what the two are called.
        pairs: labels of their cells, ``(cell, reference)`` for each of the ``datasets``.
        verdict: on their differences.
        welch: datasets won, lost and not decided by Welch's test, the paper's procedure.
        claimed: the answer that may be claimed together with those of all other comparisons of the page; over the
            number of labels, together with those of the same competitor, which share a sentence.
        by_dataset: over a few datasets, the verdict on each.
        means: the mean difference on each dataset.
        labels: how many labels training sees, infinity for all; None if cells do not differ in it.
    """

    context: str
    name: str
    reference: str
    pairs: Sequence[tuple[int, int]]
    datasets: Sequence[str]
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
    pairs = over_labels(results) or against_none(results) or against_usual(results)
    several = any(pair.labels is not None or pair.context != pairs[0].context for pair in pairs)
    metric = options.measure
    trials = results.trials.dropna(subset=[metric.name])
    values = metric.sign * trials.pivot_table(index="cell", columns="trial", values=metric.name)
    groups: dict[tuple[str, str], list[Pair]] = {}
    for pair in pairs:
        if pair.cell in values.index and pair.reference in values.index:
            groups.setdefault((pair.context, pair.name), []).append(pair)
    found = [_compare(group, values, several, results, options) for group in groups.values()]
    families: dict[str, list[Comparison]] = {}
    for each in found:
        families.setdefault("" if each.labels is None else each.name, []).append(each)
    found = [
        replace(each, claimed=answer)
        for family in families.values()
        for each, answer in zip(family, answers_together([each.verdict for each in family]), strict=True)
    ]
    return sorted(found, key=lambda each: -np.nan_to_num(each.verdict.difference, nan=-np.inf))


def _compare(
    pairs: Sequence[Pair], values: pd.DataFrame, several: bool, results: CellResults, options: ReportOptions
) -> Comparison:
    """One setting beside its reference; ``values`` ``(cells, trials)`` are higher if better."""
    first, second = (values.loc[list(cells)].to_numpy() for cells in list(zip(*pairs, strict=True))[:2])
    sizes = np.ones(len(second))
    if options.measure.is_relative:  # in percent of the reference's mean, unless that is zero
        means = np.abs(mean_of(second))
        sizes = np.where(means > 0, means, 1.0)
    differences = (first - second) / sizes[:, None]
    cells, told = [(pair.cell, pair.reference) for pair in pairs], pairs[0]
    each_dataset = [
        verdict_of(results, cells[place : place + 1], differences[[place]], sizes[[place]], options)
        for place in range(len(pairs))
        if 1 < len(pairs) <= MOST_IN_A_FOREST
    ]
    return Comparison(
        told.context if several else "",
        told.name,
        told.reference_name,
        cells,
        [str(results.cells.loc[cell, "dataset"]) for cell, _ in cells],
        verdict_of(results, cells, differences, sizes, options),
        _welch_outcomes(first, second, options.alpha),
        by_dataset=tuple(each_dataset),
        means=tuple(mean_of(differences).tolist()),
        labels=told.labels,
    )


def over_labels(results: CellResults) -> list[Pair]:
    """Cells beside the network without pre-training of as many labels, if cells differ in nothing else.

    There are none if cells do not differ in it, or differ in it and in other things that have no common reference.
    """
    cells = results.cells
    asked = zip(cells["regime"], cells.get("regime.labels", cells["regime"]), strict=True)
    labels = pd.Series([_labels_of(regime, number) for regime, number in asked], index=cells.index, dtype=float)
    is_plain = cells["pretrain"].eq("none")
    is_reference = is_plain & cells["method"].eq("control")
    places = pd.Series(list(zip(cells["dataset"], labels, strict=True)), index=cells.index)
    reference = dict(zip(places[is_reference], cells.index[is_reference], strict=True))
    if labels.isna().any() or labels.nunique() < 2 or len(reference) < is_reference.sum():
        return []
    sections = ("dataset", "regime", "pretrain", "method")
    options = [column for column in results.axes if column.partition(".")[0] not in sections]
    pretrained, rivals = cells[~is_plain], cells[is_plain & ~is_reference]
    own = distinguishing(pretrained, ["method", *options], beyond=["pretrain"])
    of_rivals = distinguishing(rivals, options, beyond=["method"])
    names = named_by(results, pretrained, ["pretrain", *own]).to_dict()
    names |= named_by(results, rivals, ["method", *of_rivals]).to_dict()
    return [
        Pair(cell, reference[places[cell]], _labels_in_words(labels[cell]), names[cell], NOTHING, labels[cell])
        for cell in cells.index[~is_reference]
        if places[cell] in reference
    ]


def _labels_of(regime: str, number: Any) -> float:
    """How many labels a regime leaves: infinity for all, NaN if it does anything else to them."""
    return math.inf if regime == "full" else float(number) if regime == "few" else math.nan


def _labels_in_words(labels: float) -> str:
    if labels == math.inf:
        return "all labels"
    return f"{labels:g} labels" if labels >= 1 else f"{100 * labels:g} % of the labels"


def against_none(results: CellResults) -> list[Pair]:
    """Cells with a pre-training, beside those that differ from them only in having none.

    They are named by the pre-training and by what cells of the same one differ in.
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
        contexts = named_by(results, with_one, [*told, *distinguishing(without, shared, beyond=told)])
        names: dict[Any, str] = {}
        for _, same in with_one.groupby("pretrain", sort=False):
            own = distinguishing(same, [column for column in options if column not in shared])
            names |= named_by(results, same, ["pretrain", *own], tells_usual=len(own) <= 1).to_dict()
        for label, key in zip(with_one.index, with_one[keys].to_numpy(), strict=True):
            if tuple(key) in reference:
                pairs.append(Pair(label, reference[tuple(key)], contexts[label], names[label], NOTHING))
    return pairs


def against_usual(results: CellResults) -> list[Pair]:
    """Cells beside the one of the same dataset and context that is nearest to what is usual."""
    cells = results.cells
    different = distinguishing(cells, results.axes)
    contexts = [column for column in CONTEXT if column in different]
    compared = [column for column in different if column not in contexts]
    if not compared:
        contexts, compared = [], contexts
    if not compared:
        return []
    unusual = cells[compared].apply(lambda row: sum(v != results.usual.get(str(c)) for c, v in row.items()), axis=1)
    recipes = _recipes(cells, compared)
    names = (named_by(results, cells, compared) if recipes is None else recipes).to_dict()
    shared = named_by(results, cells, contexts) if contexts else pd.Series("", index=cells.index)
    pairs = []
    for context in dict.fromkeys(shared):
        inside = cells.index[shared == context]
        nearest = unusual[inside].idxmin()
        usual = called = names[nearest]
        if len(compared) == 1 and recipes is None:
            called = value_in_words(compared[0], cells.loc[nearest, compared[0]], results.labels)
        reference = {cells.loc[label, "dataset"]: label for label in inside if names[label] == usual}
        pairs += [
            Pair(label, reference[cells.loc[label, "dataset"]], context, names[label], called)
            for label in inside
            if names[label] != usual and cells.loc[label, "dataset"] in reference
        ]
    return pairs


def _recipes(cells: pd.DataFrame, columns: list[str]) -> "pd.Series[str] | None":
    """The names of the cells' recipes, if these tell cells apart exactly as the columns do, which recipes then set."""
    asked = cells["overrides"].map(lambda overrides: [each for each in overrides if each.startswith("recipe=")])
    if not asked.map(bool).all():
        return None
    recipes = asked.map(lambda each: f"recipe {each[-1].partition('=')[2]}")
    together = cells[columns].astype(str).assign(recipe=recipes).drop_duplicates()
    apart = recipes.nunique()
    return recipes if apart == len(together) == len(together[columns].drop_duplicates()) else None


def _welch_outcomes(first: Floats, second: Floats, alpha: float) -> tuple[int, int, int]:
    """Datasets won, lost and not decided by Welch's test, the paper's procedure."""
    sides = [(mean_of(each), variance_of(each), np.isfinite(each).sum(axis=1)) for each in (first, second)]
    significant = welch_test(*sides[0], *sides[1]).p < alpha
    better = sides[0][0] > sides[1][0]
    wins, losses = int((significant & better).sum()), int((significant & ~better).sum())
    return wins, losses, len(first) - wins - losses
