"""What a report compares: each pre-training with none, or else each setting with the usual one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ..metrics import Metric
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
        welch: datasets won, lost and not decided by Welch's test, the paper's procedure.
        claimed: the answer that may be claimed together with those of all other comparisons of the page; over the
            number of labels, together with those of the same competitor, which share a sentence.
        by_dataset: over a few datasets, the verdict on each, as ``pairs``.
        means: the mean difference on each dataset, as ``pairs``.
        labels: how many labels training sees, infinity for all; None if cells do not differ in it.
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
    for pairs_of in (over_labels, against_none, against_usual):
        pairs = pairs_of(results)
        if len(pairs):
            break
    several = "labels" in pairs or len(set(pairs["context"])) > 1
    metric = options.measure
    trials = results.trials.dropna(subset=[metric.name])
    values = metric.sign * trials.pivot_table(index="cell", columns="trial", values=metric.name)
    known = pairs[pairs["cell"].isin(values.index) & pairs["reference"].isin(values.index)]
    found = [
        _compare(group, values, str(context) if several else "", results, options)
        for (context, _), group in known.groupby(["context", "name"], sort=False)
    ]
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
    pairs: pd.DataFrame, values: pd.DataFrame, context: str, results: CellResults, options: ReportOptions
) -> Comparison:
    """One setting beside its reference, a pair a dataset; ``values`` ``(cells, trials)`` are higher if better."""
    first, second = (values.loc[pairs[side]].to_numpy() for side in ("cell", "reference"))
    sizes = _sizes(second, options.measure)
    differences = (first - second) / sizes[:, None]
    each_dataset = [
        verdict_of(results, pairs.iloc[[place]], differences[[place]], sizes[[place]], options)
        for place in range(len(pairs))
        if 1 < len(pairs) <= MOST_IN_A_FOREST
    ]
    told = pairs.iloc[0]
    return Comparison(
        context,
        str(told["name"]),
        str(told["reference_name"]),
        list(zip(pairs["cell"], pairs["reference"], strict=True)),
        verdict_of(results, pairs, differences, sizes, options),
        _welch_outcomes(first, second, options.alpha),
        by_dataset=tuple(each_dataset),
        means=tuple(mean_of(differences).tolist()),
        labels=float(told["labels"]) if "labels" in pairs else None,
    )


def over_labels(results: CellResults) -> pd.DataFrame:
    """Cells beside the network without pre-training of as many labels, if cells differ in nothing else.

    Returns:
        As `against_none`, with the number of ``labels``, infinity for all. Empty if cells do not differ in it, or
        differ in it and in other things that have no common reference.
    """
    cells = results.cells
    asked = zip(cells["regime"], cells.get("regime.labels", cells["regime"]), strict=True)
    labels = pd.Series([_labels_of(regime, number) for regime, number in asked], index=cells.index, dtype=float)
    is_plain = cells["pretrain"].eq("none")
    is_reference = is_plain & cells["method"].eq("control")
    places = pd.Series(list(zip(cells["dataset"], labels, strict=True)), index=cells.index)
    reference = {place: label for label, place in places[is_reference].items()}
    if labels.isna().any() or labels.nunique() < 2 or len(reference) < is_reference.sum():
        return pd.DataFrame()
    sections = ("dataset", "regime", "pretrain", "method")
    options = [column for column in results.axes if column.partition(".")[0] not in sections]
    pretrained, rivals = cells[~is_plain], cells[is_plain & ~is_reference]
    own = distinguishing(pretrained, ["method", *options], beyond=["pretrain"])
    of_rivals = distinguishing(rivals, options, beyond=["method"])
    names = pd.concat(
        [named_by(results, pretrained, ["pretrain", *own]), named_by(results, rivals, ["method", *of_rivals])]
    )
    return pd.DataFrame(
        [
            (cell, reference[places[cell]], _labels_in_words(labels[cell]), names[cell], NOTHING, labels[cell])
            for cell in cells.index[~is_reference]
            if places[cell] in reference
        ],
        columns=[*PAIRS, "labels"],
    )


def _labels_of(regime: str, number: Any) -> float:
    """How many labels a regime leaves: infinity for all, NaN if it does anything else to them."""
    return math.inf if regime == "full" else float(number) if regime == "few" else math.nan


def _labels_in_words(labels: float) -> str:
    if labels == math.inf:
        return "all labels"
    return f"{labels:g} labels" if labels >= 1 else f"{100 * labels:g} % of the labels"


def against_none(results: CellResults) -> pd.DataFrame:
    """Cells with a pre-training, beside those that differ from them only in having none.

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
        contexts = named_by(results, with_one, [*told, *distinguishing(without, shared, beyond=told)])
        names = _names(results, with_one, [column for column in options if column not in shared])
        for label, key in zip(with_one.index, with_one[keys].to_numpy(), strict=True):
            if tuple(key) in reference:
                pairs.append((label, reference[tuple(key)], contexts[label], names[label], NOTHING))
    return pd.DataFrame(pairs, columns=PAIRS)


def _names(results: CellResults, cells: pd.DataFrame, columns: list[str]) -> "pd.Series[str]":
    """Pre-trainings, with the options in which cells of the same one differ."""
    named = []
    for _, same in cells.groupby("pretrain", sort=False):
        own = distinguishing(same, columns)
        named.append(named_by(results, same, ["pretrain", *own], tells_usual=len(own) <= 1))
    return pd.concat(named)


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
    unusual = cells[compared].apply(lambda row: sum(v != results.usual.get(str(c)) for c, v in row.items()), axis=1)
    recipes = _recipes(cells, compared)
    names = (named_by(results, cells, compared) if recipes is None else recipes).to_dict()
    shared = named_by(results, cells, contexts) if contexts else pd.Series("", index=cells.index)
    pairs: list[tuple[Any, ...]] = []
    for context in dict.fromkeys(shared):
        inside = cells[shared == context]
        nearest = unusual[inside.index].idxmin()
        usual = called = names[nearest]
        if len(compared) == 1 and recipes is None:
            called = value_in_words(compared[0], cells.loc[nearest, compared[0]], results.labels)
        reference = {dataset: label for label, dataset in inside["dataset"].items() if names[label] == usual}
        pairs += [
            (label, reference[dataset], context, names[label], called)
            for label, dataset in inside["dataset"].items()
            if names[label] != usual and dataset in reference
        ]
    return pd.DataFrame(pairs, columns=PAIRS)


def _recipes(cells: pd.DataFrame, columns: list[str]) -> "pd.Series[str] | None":
    """The names of the cells' recipes, if these tell cells apart exactly as the columns do, which recipes then set."""
    asked = cells["overrides"].map(lambda overrides: [each for each in overrides if each.startswith("recipe=")])
    if not asked.map(bool).all():
        return None
    recipes = asked.map(lambda each: f"recipe {each[-1].partition('=')[2]}")
    together = cells[columns].astype(str).assign(recipe=recipes).drop_duplicates()
    apart = recipes.nunique()
    return recipes if apart == len(together) == len(together[columns].drop_duplicates()) else None


def _sizes(references: Floats, metric: Metric) -> Floats:
    """What differences on each of D datasets are divided by, from trials of the reference ``(D, T)``: the size of its
    mean for a metric that is judged in percent of it, else 1. A reference of zero is not divided by."""
    sizes = np.abs(mean_of(references))
    return np.where(sizes > 0, sizes, 1.0) if metric.is_relative else np.ones_like(sizes)


def _welch_outcomes(first: Floats, second: Floats, alpha: float) -> tuple[int, int, int]:
    """Datasets won, lost and not decided by Welch's test, the paper's procedure."""
    sides = [(mean_of(each), variance_of(each), np.isfinite(each).sum(axis=1)) for each in (first, second)]
    significant = welch_test(*sides[0], *sides[1]).p < alpha
    better = sides[0][0] > sides[1][0]
    wins, losses = int((significant & better).sum()), int((significant & ~better).sum())
    return wins, losses, len(first) - wins - losses
