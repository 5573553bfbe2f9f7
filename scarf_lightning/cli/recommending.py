"""The recommendation at the end of an answer: which model to use on a table, and what pre-training adds to a network.

`recommend` reads the results; `keep` trains the recommended model on all labels and leaves it in a folder.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..errors import UsageError, counted
from ..metrics import Metric
from ..options import read
from ..report.amounts import in_words, signed
from ..report.comparisons import Comparison, compare_all
from ..report.loading import CellResults
from ..report.names import NO_PRETRAINING, THE_NETWORK
from ..report.pairing import competition
from ..report.report_options import ReportOptions
from ..report.statistics.answers import CANNOT_TELL
from ..report.statistics.power import settling
from ..report.statistics.scores import Floats
from ..report.verdicts import level_of, verdict_of
from ..results import read_cell
from ..screen import command_line
from .running import N_NETWORKS

if TYPE_CHECKING:
    from ..options import Config

BASELINE = "constant"
"""The method that always gives one answer. It is named beside the others, and never recommended."""
LINEAR = ("logistic", "ridge")
CLOSE = 0.5
"""A simpler model is recommended if its mean is behind the best by at most this share of the smallest difference that
matters."""
MODELS = "models"
"""The folder of recommended models, in that of the results."""
NOT_IN_A_NAME = re.compile(r"[^\w.-]+")


@dataclass(frozen=True)
class Candidate:
    """A model that was trained with all labels of a table.

    Attributes:
        label: of its cell in `CellResults.cells`.
        name: among the competitors.
        method, pretrain: its choices on these axes.
        mean: of the metric over the trials that all candidates have.
        values: of the metric by trial, NaN where it has none.
    """

    label: int
    name: str
    method: str
    pretrain: str
    mean: float
    values: "pd.Series[float]"

    @property
    def own_mean(self) -> float:
        """The mean over all its trials."""
        return float(self.values.mean())

    @property
    def is_network(self) -> bool:
        """True for the network of the run, pre-trained or not."""
        return self.method == "control"

    @property
    def complexity(self) -> int:
        """The simpler of two models has the lower number."""
        if not self.is_network:
            return 0 if self.method in LINEAR else 1
        return 2 if self.pretrain == "none" else 3

    @property
    def in_words(self) -> str:
        """What it is, in a sentence."""
        if not self.is_network or self.name == THE_NETWORK:
            return self.name
        if self.pretrain == "none":
            return f"the network with {NO_PRETRAINING}"
        return f"the network pre-trained by {self.name}"


@dataclass(frozen=True)
class Recommendation:
    """The model to use on a table.

    Attributes:
        name: of the competitor.
        sentences: what to use, what pre-training adds, and what would tell more.
        cell: its folder in the store.
        dataset: its name.
        expected: ``metric``, ``value``, and the ends ``low`` and ``high`` of its 95 % interval, NaN where unknown.
    """

    name: str
    sentences: list[str]
    cell: Path
    dataset: str
    expected: dict[str, Any]


@dataclass(frozen=True)
class KeptModel:
    """The folder of the recommended model, or the reason why there is none, in a sentence."""

    folder: Path | None
    sentence: str


def recommend(results: CellResults, options: ReportOptions) -> Recommendation | None:
    """Recommend one of the models that were trained with all labels of a table.

    It is the one with the best mean over the trials that all of them have, or a simpler one that is hardly behind.

    Returns:
        None if the results are of several tables, or if no such model has a trial with the metric.
    """
    options = options.of(results)
    if len(set(results.cells["dataset"])) != 1:
        return None
    every = _candidates(results, options.measure)
    candidates = [each for each in every if each.method != BASELINE]
    if not candidates:
        return None
    metric = options.measure
    best = max(candidates, key=lambda each: metric.sign * each.mean)
    margin = CLOSE * options.rope * (abs(best.mean) if metric.is_relative else 1)
    near = [each for each in candidates if metric.sign * (best.mean - each.mean) <= margin]
    chosen = min(near, key=lambda each: (each.complexity, -metric.sign * each.mean))
    mean, low, high = level_of(results, chosen.label, metric)
    sentences = [_use(chosen, every, results, options), *_on_pretraining(chosen, every, results, options)]
    return Recommendation(
        name=chosen.name,
        sentences=sentences,
        cell=results.folders[chosen.label],
        dataset=str(results.cells.loc[chosen.label, "dataset"]),
        expected={"metric": metric.name, "value": mean, "low": low, "high": high},
    )


def _candidates(results: CellResults, metric: Metric) -> list[Candidate]:
    """The models that were trained with all labels."""
    names = competition(results).names
    trials = results.trials.dropna(subset=[metric.name])
    rows = [
        label for label, row in results.rows.items() if row.get("regime") == "full" and label in set(trials["cell"])
    ]
    by_cell = {label: trials[trials["cell"] == label].set_index("trial")[metric.name] for label in rows}
    shared: set[int] = set.intersection(*(set(values.index) for values in by_cell.values())) if by_cell else set()
    found = []
    for label, values in by_cell.items():
        row = results.rows[label]
        mean = float(values[sorted(shared)].mean()) if shared else float(values.mean())
        found.append(Candidate(label, names[label], str(row["method"]), str(row["pretrain"]), mean, values))
    return found


def _use(chosen: Candidate, every: Sequence[Candidate], results: CellResults, options: ReportOptions) -> str:
    """The sentence that says what to use, beside the best model of the other kind and the constant answer."""
    metric = options.measure
    others = [each for each in every if each.is_network != chosen.is_network and each.method != BASELINE]
    baseline = [each for each in every if each.method == BASELINE]
    beside = []
    if others:
        other = max(others, key=lambda each: metric.sign * each.mean)
        difference = _difference(chosen, other, results, options)
        beside.append(f"{_short(other.own_mean, metric)} of {other.in_words} ({difference})")
    for each in baseline:
        beside.append(f"{_short(each.own_mean, metric)} of {each.name}")
    against = f", against {' and '.join(beside)}" if beside else ""
    mean, low, high = level_of(results, chosen.label, metric)
    interval = "" if math.isnan(low) else f" ({_short(low, metric)} to {_short(high, metric)})"
    sentence = f"Use {chosen.in_words}: {metric.label} {_short(mean, metric)}{interval}{against}."
    for each in baseline:
        if metric.sign * (chosen.mean - each.mean) <= 0:
            return f"No model is better than {each.name}, which needs none. {sentence}"
    return sentence


def _short(value: float, metric: Metric) -> str:
    """A level with two decimals, or four digits where it has a unit."""
    return metric.plain(value) if metric.has_unit else f"{value:.2f}"


def _difference(chosen: Candidate, other: Candidate, results: CellResults, options: ReportOptions) -> str:
    """The difference between two candidates with its interval, and whether we can tell which is better."""
    metric = options.measure
    shared = sorted(set(chosen.values.index) & set(other.values.index))
    size = abs(other.mean) if metric.is_relative and other.mean else 1.0
    gains = metric.sign * (chosen.values[shared] - other.values[shared]) / size
    differences: Floats = np.asarray(gains, dtype=np.float64)
    verdict = verdict_of(results, [(chosen.label, other.label)], differences[None], np.array([size]), options)
    if math.isnan(verdict.low):
        return f"{signed(float(differences.mean()), metric)}, too few trials for an interval"
    known = f"on the same splits {in_words(verdict.difference, verdict.low, verdict.high, metric)}"
    return f"{known}; we cannot tell which is better" if verdict.answer == CANNOT_TELL else known


def _on_pretraining(
    chosen: Candidate, every: Sequence[Candidate], results: CellResults, options: ReportOptions
) -> list[str]:
    """What the best pre-training adds to the network, whether that changes the choice, and what would tell."""
    metric = options.measure
    labels = {each.label: each for each in every if each.is_network}
    found: list[Comparison] = []
    for comparison in compare_all(results, replace(options, reference=None)):
        ((cell, reference), *_) = comparison.pairs
        if cell in labels and reference in labels and labels[cell].pretrain != "none":
            found.append(comparison)
    if not found:
        return []
    best = max(found, key=lambda each: metric.sign * labels[each.pairs[0][0]].mean)
    verdict, name = best.verdict, best.name
    amount = in_words(verdict.difference, verdict.low, verdict.high, metric)
    if best.claimed == CANNOT_TELL:
        sentence = f"We cannot tell whether pre-training helps the network: {name} changes it by {amount}"
    else:
        sentence = f"Pre-training the network by {name}: {best.claimed}, {amount}"
    without = labels[best.pairs[0][1]]
    scratch = metric.sign * without.mean
    size = abs(without.mean) if metric.is_relative else 1.0
    if not chosen.is_network and scratch + size * verdict.high < metric.sign * chosen.mean:
        sentence = f"{sentence}, and it stays behind {chosen.name} either way"
    return [f"{sentence}.", *_what_would_tell(best, options)]


def _what_would_tell(comparison: Comparison, options: ReportOptions) -> list[str]:
    """How many labels or trials would tell whether a pre-training helps; none if we can tell, or if it is unknown."""
    parts = comparison.verdict.parts
    if comparison.claimed != CANNOT_TELL or parts is None:
        return []
    needed = settling(comparison.verdict.difference, parts, options.rope)
    name = comparison.name
    if needed.trials is not None:
        more = counted(needed.trials - comparison.verdict.trials, "more trial")
        return [
            f"{more} would tell {name} from {NO_PRETRAINING}, if the difference stays as it is: trials={needed.trials}."
        ]
    if needed.rows is not None:
        more = counted(_rounded(needed.rows - parts.n_rows), "more label")
        return [f"About {more} would tell {name} from {NO_PRETRAINING}, if the difference stays as it is."]
    return [f"The difference is so small that no number of labels in reach would tell {name} from {NO_PRETRAINING}."]


def _rounded(number: float) -> int:
    """A number with two digits that count, at least one."""
    digits = max(len(str(round(number))) - 2, 0)
    return max(1, int(round(number, -digits)))


def keep(recommendation: Recommendation) -> KeptModel:
    """Train the recommended model on all labels of its table, and leave it in the folder of the results.

    Raises:
        UsageError: the table cannot be read any more, or the folder cannot be written.
    """
    from ..estimators.refitting import refitted, why_not_kept

    description = read_cell(recommendation.cell).description
    assert description is not None
    config = read(description["config"])
    reason = why_not_kept(config)
    if reason is not None:
        return KeptModel(None, f"No model is kept, because {reason}; fit {recommendation.name} by its own library.")
    table = _table_of(config)
    expected = {name: value for name, value in recommendation.expected.items() if value == value}
    model = refitted(config, table, expected, n_networks=N_NETWORKS)
    folder = recommendation.cell.parent / MODELS / NOT_IN_A_NAME.sub("-", recommendation.dataset)
    model.save(folder)
    command = command_line("predict", [str(folder), "NEW.csv"])
    return KeptModel(folder, f"It is trained on all {table.n_labelled:,} labels and kept; to predict a file: {command}")


def _table_of(config: "Config") -> Any:
    """The table of a cell, read again."""
    from ..data.sources import open_source

    source = open_source(**vars(config.dataset), openml_cache=config.paths.openml, split=config.split)
    try:
        return source.read().table
    except UsageError as error:
        raise UsageError(
            f"The recommended model cannot be trained, because its table cannot be read: {error}"
        ) from error
