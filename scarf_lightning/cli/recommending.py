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

from ..errors import UsageError
from ..intervals import Interval
from ..metrics import Metric
from ..options import read
from ..reporting.advice import telling_sentence
from ..reporting.cell_results import CellResults
from ..reporting.comparisons import Comparison, compare_all
from ..reporting.levels import level_of, trials_of
from ..reporting.names import NO_PRETRAINING, THE_NETWORK
from ..reporting.report_options import ReportOptions
from ..reporting.sentences import verb_of
from ..results import Stored, read_cell, read_predictions
from ..screen import command_line
from ..verdicts.amounts import in_words, signed
from ..verdicts.answers import CANNOT_TELL, HELPING
from ..verdicts.choice import level_of_choice
from ..verdicts.frame import Trials, verdict_on
from ..verdicts.scores import Floats
from ..verdicts.verdict import Verdict
from .running import N_NETWORKS

if TYPE_CHECKING:
    from ..data.table import Table
    from ..estimators.carrying import Carrier
    from ..options import Config

BASELINE = "constant"
"""The method that always gives one answer. It is never recommended, unless nothing is better."""
LINEAR = ("logistic", "ridge")
MODELS = "models"
"""The folder of recommended models, in that of the results."""
LEAKING = ("predicts the target almost alone", "in rows of one class only")
"""Phrases of the notes on columns that give the target away."""
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
    def is_pretrained(self) -> bool:
        """True for the network after a pre-training."""
        return self.is_network and self.pretrain != "none"

    @property
    def complexity(self) -> int:
        """The simpler and cheaper of two models has the lower number."""
        if self.is_pretrained:
            return 3
        if self.is_network:
            return 2
        return 0 if self.method in LINEAR else 1

    @property
    def in_words(self) -> str:
        """The model in a sentence."""
        if not self.is_network or self.name == THE_NETWORK:
            return self.name
        if self.is_pretrained:
            return f"the network pre-trained by {self.name}"
        return f"the network with {NO_PRETRAINING}"


@dataclass(frozen=True)
class Candidates:
    """The models of one table that can be recommended.

    Attributes:
        models: all of them, without the baseline.
        baseline: the method that always gives one answer, if it was trained.
        pretrainings: comparisons of the pre-trained networks with the network without pre-training.
        results: that they are from.
        options: of the report, with its metric.
    """

    models: Sequence[Candidate]
    baseline: Candidate | None
    pretrainings: Sequence[Comparison]
    results: CellResults
    options: ReportOptions

    @property
    def metric(self) -> Metric:
        """The metric by which they are compared."""
        return self.options.measure

    def trials_of(self, candidate: Candidate) -> Trials:
        """The trials of a model, as the statistics take them."""
        return trials_of(self.results, candidate.label, self.metric)

    def value(self, candidate: Candidate) -> float:
        """The mean of the metric, higher if better."""
        return self.metric.sign * candidate.mean

    def lead(self, one: Candidate, other: Candidate) -> float:
        """By how much one is better than another in the mean over the trials that both have."""
        gains = self.gains(one, other)
        if gains.empty:
            return self.value(one) - self.value(other)
        return float(gains.mean())

    def gains(self, one: Candidate, other: Candidate) -> "pd.Series[float]":
        """By how much one is better than another in each trial that both have."""
        # Pandas pairs the values by trial; a trial that one of them lacks is NaN.
        gains: pd.Series[float] = self.metric.sign * one.values.sub(other.values)
        return gains.dropna()

    def best(self, among: Sequence[Candidate]) -> Candidate:
        """The one with the best mean."""
        return max(among, key=self.value)

    def chosen(self) -> Candidate:
        """The simplest of the models that the best one is not better than, see `is_tie`."""
        best = self.best(self.models)
        tied = [best]
        # Only a simpler model can take the place of the best one, so only these are compared with it.
        for each in self.models:
            if each.complexity < best.complexity and self.is_tie(best, each):
                tied.append(each)
        return min(tied, key=lambda each: (each.complexity, -self.value(each)))

    def level(self, chosen: Candidate) -> Interval:
        """The metric to expect of the chosen model, from trials and rows that did not choose it."""
        trials = [self.trials_of(each) for each in self.models]
        # Whether a lead is known does not depend on a few rows, and is asked of all of them.
        is_known: dict[tuple[int, int], bool] = {}

        def choose(means: Floats) -> int:
            values = self.metric.sign * means
            best = int(values.argmax())
            tied = [best]
            for place, each in enumerate(self.models):
                lead = (values[best] - values[place]) / self.size(each)
                if each.complexity >= self.models[best].complexity or lead > self.options.rope:
                    continue
                if (best, place) not in is_known:
                    is_known[best, place] = self.verdict(self.models[best], each).answer in HELPING
                if not is_known[best, place]:
                    tied.append(place)
            return min(tied, key=lambda place: (self.models[place].complexity, -values[place]))

        return level_of_choice(trials, self.models.index(chosen), choose, self.metric)

    def is_tie(self, best: Candidate, other: Candidate) -> bool:
        """True if the best model is not better than another one, as far as we can tell.

        Its answer beside the other one is none of those that help, and on the trials that both have it leads by no
        more than the smallest difference that matters. A larger lead of which we cannot tell is more likely true than
        not, and to give it up costs 2 points of accuracy with 100 labels.
        """
        verdict = self.verdict(best, other)
        # `rope` is the smallest difference that matters.
        return verdict.answer not in HELPING and verdict.difference <= self.options.rope

    def verdict(self, one: Candidate, other: Candidate) -> Verdict:
        """The verdict on one model beside another, on the trials that both have."""
        pair = (self.trials_of(one), self.trials_of(other))
        return verdict_on([pair], self.metric, self.options.rope)

    def size(self, reference: Candidate) -> float:
        """The number that a difference from a reference is divided by: its mean, for metrics that are relative."""
        if self.metric.is_relative and reference.mean:
            return abs(reference.mean)
        return 1.0


@dataclass(frozen=True)
class Recommendation:
    """The model to use on a table.

    Attributes:
        name: of the competitor.
        sentences: what to use, what pre-training adds, and what would tell more.
        cell: its folder in the store.
        dataset: its name.
        expected: ``metric``, ``value`` by trials and rows that did not choose the model, and the ends ``low`` and
            ``high`` of its 95 % interval, NaN where unknown.
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

    It is the one with the best mean, or a simpler one in a tie, see `Candidates.is_tie`. So a pre-trained network is
    recommended only if it is known to help, or leads the network without pre-training by more than matters.

    Returns:
        None if the results are of several tables, or if no such model has a trial with the metric.
    """
    options = options.with_metric(results.metric)
    # The best model of one table says nothing about another one.
    if len(set(results.cells["dataset"])) != 1:
        return None
    candidates = _candidates(results, options)
    if not candidates.models:
        return None
    chosen = candidates.chosen()
    metric = options.measure
    mean, low, high = level = candidates.level(chosen)
    cell = read_cell(results.folders[chosen.label])
    leaks = _leaks(cell)
    carriers, unknown = _carriers(cell, options)
    return Recommendation(
        name=chosen.name,
        sentences=[
            _use(chosen, level, candidates),
            *_leak_sentence(leaks),
            *_carrier_sentences(carriers, leaks, metric),
            *unknown,
            *_pretraining_sentences(chosen, candidates),
        ],
        cell=results.folders[chosen.label],
        dataset=str(results.cells.loc[chosen.label, "dataset"]),
        expected={"metric": metric.name, "value": mean, "low": low, "high": high},
    )


def _leaks(cell: Stored) -> list[str]:
    """The notes on columns of a cell's table that may give the target away."""
    notes = [] if cell.description is None else (cell.description.get("reading") or {}).get("notes") or []
    return [str(note) for note in notes if any(words in str(note) for words in LEAKING)]


def _leak_sentence(leaks: Sequence[str]) -> list[str]:
    """A sentence with these notes, beside the metric that their columns carry."""
    if not leaks:
        return []
    return [f"That figure may hold only where the target is known already. {' '.join(leaks)}"]


def _carriers(cell: Stored, options: ReportOptions) -> "tuple[list[Carrier], list[str]]":
    """The columns that carry the model of a cell, and a sentence if that cannot be measured."""
    kept, _ = read_predictions(cell)
    # Without predictions it is not known which rows were tested.
    if cell.description is None or not kept:
        return [], []
    # Imports torch and scikit-learn.
    from ..estimators.carrying import ModelTrial, carriers

    unknown = "Whether one column carries that figure is unknown, because"
    try:
        table = _table_of(read(cell.description["config"]))
    except UsageError as error:
        return [], [f"{unknown} the table cannot be read: {error}"]
    # The rows of another table have other numbers.
    if table.hash != cell.description["identity"].get("data"):
        return [], [f"{unknown} {table.source} has changed since the models were trained."]
    trials = [ModelTrial(kept[trial].rows, kept[trial].values) for trial in sorted(kept)]
    return carriers(table, trials, options.measure, options.rope), []


def _carrier_sentences(found: "Sequence[Carrier]", leaks: Sequence[str], metric: Metric) -> list[str]:
    """A sentence on each column that carries a model."""
    sentences = []
    for each in found:
        level, without = _short(each.level, metric), _short(each.without, metric)
        # A small tree may be better than a network that has learnt too little.
        share = "all" if each.share > 0.995 else f"{100 * each.share:.0f} %"
        said = (
            f"Column {each.column!r} carries that figure: alone it gives {metric.label} {level}, which is {share} of "
            f"the gain over one answer for all rows ({without})"
        )
        # The note on a leak says already how to leave it out.
        is_named = any(repr(each.column) in leak for leak in leaks)
        sentences.append(f"{said}." if is_named else each.to_drop(said))
    return sentences


def _candidates(results: CellResults, options: ReportOptions) -> Candidates:
    """The models that were trained with all labels."""
    metric = options.measure
    names = results.competition.names
    by_cell = _values(results, metric)
    # Rounds give trials to open comparisons alone, so models differ in theirs. Trials share splits.
    trials = []
    for label, values in by_cell.items():
        # The baseline is in no comparison, so it has the fewest trials.
        if results.rows[label]["method"] != BASELINE:
            trials.append(set(values.index))
    shared: set[int] = set()
    if trials:
        shared = set.intersection(*trials)
    models, baseline = [], None
    for label, values in by_cell.items():
        compared = values[values.index.isin(shared)]
        # Without a trial that all have, each is judged by its own.
        if compared.empty:
            compared = values
        row = results.rows[label]
        candidate = Candidate(
            label=label,
            name=names[label],
            method=str(row["method"]),
            pretrain=str(row["pretrain"]),
            mean=float(compared.mean()),
            values=values,
        )
        if candidate.method == BASELINE:
            baseline = candidate
        else:
            models.append(candidate)
    pretrainings = _pretrainings(models, results, options)
    return Candidates(models, baseline, pretrainings, results, options)


def _values(results: CellResults, metric: Metric) -> dict[int, "pd.Series[float]"]:
    """The metric by trial of each cell with all labels that has a trial."""
    values = {}
    for label, row in results.rows.items():
        # A user has all labels, so cells with few say nothing about which model to use.
        if row.get("regime") != "full":
            continue
        # A trial that diverged has no metric.
        trials = results.trials_of(label).dropna(subset=[metric.name])
        if len(trials):
            values[label] = trials.set_index("trial")[metric.name]
    return values


def _pretrainings(models: Sequence[Candidate], results: CellResults, options: ReportOptions) -> list[Comparison]:
    """The comparisons of pre-trained networks with no pre-training, all labels each."""
    networks, pretrained = set[int](), set[int]()
    for each in models:
        if each.is_pretrained:
            pretrained.add(each.label)
        elif each.is_network:
            networks.add(each.label)
    pretrainings = []
    # The user's reference may be another competitor; here it is the network itself.
    for comparison in compare_all(results, replace(options, reference=None)):
        cell, reference = comparison.pairs[0]
        if cell in pretrained and reference in networks:
            pretrainings.append(comparison)
    return pretrainings


def _use(chosen: Candidate, level: Interval, candidates: Candidates) -> str:
    """The sentence that says what to use, with the metric to expect, beside the best other model."""
    metric = candidates.metric
    mean, low, high = (_short(value, metric) for value in level)
    expected = f"{metric.label} {mean}"
    if not math.isnan(level.low):
        expected = f"{expected} ({low} to {high})"
    # The tables show the metric of the trials that chose it, which is more.
    if not math.isclose(level.mean, level_of(candidates.results, chosen.label, metric).mean):
        expected = f"{expected} on rows that did not choose it"
    beside = _beside(chosen, candidates)
    sentence = f"Use {chosen.in_words}: {expected}{beside}."

    # A model that is no better than one answer for all rows is worth no training.
    baseline = candidates.baseline
    if baseline is None or candidates.lead(chosen, baseline) > 0:
        return sentence
    constant = _short(baseline.own_mean, metric)
    return f"No model is better than {baseline.name}, which needs none ({constant}). {sentence}"


def _beside(chosen: Candidate, candidates: Candidates) -> str:
    """The best model of the other kind: a network beside a model without one, and the reverse."""
    others = []
    for each in candidates.models:
        if each.is_network != chosen.is_network:
            others.append(each)
    if not others:
        return ""
    other = candidates.best(others)
    level = _short(other.own_mean, candidates.metric)
    difference = _difference(chosen, other, candidates)
    return f", against {level} of {other.in_words} ({difference})"


def _short(value: float, metric: Metric) -> str:
    """A level with two decimals, or four digits where it has a unit."""
    return metric.plain(value) if metric.has_unit else f"{value:.2f}"


def _difference(chosen: Candidate, other: Candidate, candidates: Candidates) -> str:
    """The difference between two candidates with its interval, and whether we can tell which is better."""
    metric = candidates.metric
    verdict = candidates.verdict(chosen, other)
    if math.isnan(verdict.low):
        return f"on the same splits {signed(verdict.difference, metric)}, too few trials for an interval"
    known = f"on the same splits {in_words(verdict, metric)}"
    if verdict.answer != CANNOT_TELL:
        return known
    # The reader sees a higher mean beside the model that is recommended, and is told why.
    if chosen.complexity < other.complexity and verdict.difference <= 0:
        return f"{known}; we cannot tell which is better, and the simpler one costs less"
    return f"{known}; we cannot tell which is better"


def _pretraining_sentences(chosen: Candidate, candidates: Candidates) -> list[str]:
    """Sentences on what the best pre-training adds to the network, and on what would tell more."""
    if not candidates.pretrainings:
        return []
    metric = candidates.metric
    models = {each.label: each for each in candidates.models}
    values: list[float] = []
    for comparison in candidates.pretrainings:
        cell, _ = comparison.pairs[0]
        values.append(candidates.value(models[cell]))
    # The first of equal ones, in the order of the report.
    best = candidates.pretrainings[int(np.argmax(values))]
    verdict = best.verdict
    amount = in_words(verdict, metric)
    if best.claimed == CANNOT_TELL:
        sentence = f"We cannot tell whether pre-training helps the network: {best.name} changes it by {amount}"
    else:
        sentence = f"Pre-training the network by {best.name} {verb_of(best)}, {amount}"

    # The upper end of the interval is the most that pre-training may add to the network.
    _, reference = best.pairs[0]
    without = models[reference]
    most = candidates.value(without) + candidates.size(without) * verdict.high
    if not chosen.is_network and most < candidates.value(chosen):
        sentence = f"{sentence}, and it stays behind {chosen.name} either way"
    return [f"{sentence}.", *telling_sentence(best, candidates.options.rope, NO_PRETRAINING)]


def keep(recommendation: Recommendation) -> KeptModel:
    """Train the recommended model on all labels of its table, and leave it in the folder of the results.

    Raises:
        UsageError: the table cannot be read any more, or the folder cannot be written.
    """
    from ..estimators.refitting import refitted, why_not_kept

    description = read_cell(recommendation.cell).description
    assert description is not None
    config = read(description["config"])
    # Other libraries' models are saved by their own means.
    reason = why_not_kept(config)
    if reason is not None:
        return KeptModel(None, f"No model is kept, because {reason}; fit {recommendation.name} by its own library.")
    # The file may have been moved since the cell was trained, maybe days ago.
    try:
        table = _table_of(config)
    except UsageError as error:
        raise UsageError(
            f"The recommended model cannot be trained, because its table cannot be read: {error}"
        ) from error
    # The ends of an interval that is unknown are NaN.
    expected = {}
    for name, value in recommendation.expected.items():
        if isinstance(value, str) or not math.isnan(value):
            expected[name] = value
    model = refitted(config, table, expected, n_networks=N_NETWORKS)
    # The name of a dataset may be a path, or have blanks.
    name = NOT_IN_A_NAME.sub("-", recommendation.dataset)
    folder = recommendation.cell.parent / MODELS / name
    model.save(folder)
    command = command_line("predict", [str(folder), "NEW.csv"])
    return KeptModel(folder, f"It is trained on all {table.n_labelled:,} labels and kept; to predict a file: {command}")


def _table_of(config: "Config") -> "Table":
    """The table of a cell, read again."""
    from ..data.sources import open_source

    source = open_source(**vars(config.dataset), openml_cache=config.paths.openml, split=config.split)
    return source.read().table
