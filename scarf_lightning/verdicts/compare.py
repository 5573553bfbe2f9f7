"""The door to the statistics: verdicts on results of any library, from a frame of metrics or of predictions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real

import pandas as pd

from ..errors import UsageError, counted, unknown_name
from ..intervals import TEST_TO_TRAIN
from ..metrics import Metric, metric_named
from .amounts import effect, won
from .answers import MARGIN, Answer
from .factors import Cells, Setting, interactions, main_effects
from .frame import Trials
from .frame_columns import Tables, check_frame, levels_of_tables, tables_by_labels
from .judging import BESIDE, COMPETITOR, REFERENCE, Judged, claimed_together, judged
from .looks import Look
from .ranks import Ranking, rank_competitors
from .verdict import Verdict, after_looks
from .worth import Worth, worth_of_trials, worth_sentence


@dataclass(frozen=True)
class ComparedResults:
    """Verdicts on all competitors beside one reference.

    Attributes:
        reference: the competitor that the others are compared with.
        metric: what they are compared by.
        margin: a difference no larger than this is of no practical consequence.
        comparisons: of the others with it, best first; at each number of labels, if labels were given.
        levels: a row a table and competitor: ``dataset, competitor, mean, low, high, trials``; ``labels`` if they were
            given.
        effects: of the factors, and their interactions, if factors were given.
        worths: of each comparison, if labels were given; None where the reference has no curve.
    """

    reference: str
    metric: Metric
    margin: float
    comparisons: Sequence[Judged]
    levels: pd.DataFrame
    effects: Sequence[Judged] = ()
    worths: Sequence[Worth | None] = ()

    @property
    def competitors(self) -> list[str]:
        """The name of the competitor of each comparison."""
        return [each.name for each in self.comparisons]

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdict of each comparison."""
        return [each.verdict for each in self.comparisons]

    @property
    def answers(self) -> list[Answer]:
        """The answer of each comparison: all may be claimed together, or with labels those of each competitor."""
        return [each.claimed for each in self.comparisons]

    @property
    def ranking(self) -> Ranking:
        """The competitors, the reference too, ranked by their mean metric on each table, with labels at each number.

        Raises:
            UsageError: no table has a value of all competitors.
        """
        scores = self.levels.assign(trial=0, value=self.metric.sign * self.levels["mean"])
        if "labels" in scores:
            # A table at another number of labels is another place to rank at.
            scores["dataset"] = scores["dataset"] + scores["labels"].map(" with {:,g} labels".format)
        return rank_competitors(scores)

    @property
    def frame(self) -> pd.DataFrame:
        """A row a competitor: ``competitor, reference, answer, claim, difference, low, high, p, basis, trials,
        datasets, won, lost, tied``; over several tables ``mean``. With labels, a row a competitor and number of
        ``labels``."""
        rows = []
        for each in self.comparisons:
            verdict = each.verdict
            row = {"competitor": each.name, "reference": each.reference} | each.columns
            row |= {"won": verdict.won, "lost": verdict.lost, "tied": verdict.tied}
            if verdict.datasets > 1:
                row["mean"] = verdict.average
            if each.labels is not None:
                row["labels"] = each.labels
            rows.append(row)
        return pd.DataFrame(rows)

    @property
    def worth_frame(self) -> pd.DataFrame:
        """A row a competitor and number of labels: ``competitor, reference, labels, worth, worth_low, worth_high,
        least, most, curve, n``; without a row if no labels were given."""
        rows = []
        for name, worth in self._valued:
            rows.append({"competitor": name, "reference": self.reference} | worth.columns)
        return pd.DataFrame(rows)

    @property
    def effects_frame(self) -> pd.DataFrame:
        """A row an effect or interaction: ``effect, value, reference, answer, claim, difference, low, high, p,
        basis, trials, datasets``."""
        rows = []
        for each in self.effects:
            contrast = each.contrast
            named = {
                "effect": " × ".join(contrast.factors),
                "value": " × ".join(map(str, contrast.values)),
                "reference": " × ".join(map(str, contrast.references)),
            }
            rows.append(named | each.columns)
        return pd.DataFrame(rows)

    @property
    def sentences(self) -> list[str]:
        """The answer on each effect, if there are factors, and else on each competitor, and its worth in labels."""
        if self.effects:
            return [self._effect_sentence(each) for each in self.effects]
        sentences = [self._competitor_sentence(each) for each in self.comparisons]
        by_name: dict[str, dict[str, Worth]] = {}
        for name, worth in self._valued:
            by_name.setdefault(name, {})[f"{worth.labels:,g}"] = worth
        return sentences + [worth_sentence(name, worths) for name, worths in by_name.items()]

    @property
    def _valued(self) -> list[tuple[str, Worth]]:
        """The competitors with a worth in labels."""
        if not self.worths:
            return []
        return [(name, worth) for name, worth in zip(self.competitors, self.worths, strict=True) if worth is not None]

    def _effect_sentence(self, each: Judged) -> str:
        """The answer on an effect, and its size."""
        contrast = each.contrast
        names = " and ".join(contrast.factors)
        size = effect(each, self.metric)
        if contrast.is_interaction:
            values = " with ".join(map(str, contrast.values))
            return f"Interaction of {names}: {values}: {each.shown}; {size}."
        (value,), (reference,) = contrast.values, contrast.references
        return f"{names}: {value} beside {reference}: {each.shown}; {size}."

    def _competitor_sentence(self, each: Judged) -> str:
        """The answer on one competitor, its effect and the claim."""
        datasets = list(dict.fromkeys(self.levels["dataset"]))
        where = f"on {datasets[0]}" if len(datasets) == 1 else f"on {counted(each.verdict.datasets, 'table')}"
        if each.context:
            where += f" with {each.context}"
        size = effect(each, self.metric)
        if each.verdict.datasets > 1:
            size += f"; {won(each)}"
        return f"{each.name} beside {self.reference} {where}: {each.shown}; {size}."

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def compare(
    frame: pd.DataFrame,
    *,
    metric: str,
    reference: str | float | None = None,
    factors: Sequence[str] = (),
    labels: str | None = None,
    margin: float = MARGIN,
    test_to_train: float = TEST_TO_TRAIN,
    looks: Sequence[int] = (),
) -> ComparedResults:
    """Compare results of any library: who helps, by how much, and how sure is that?

    Give a metric a trial or, better, the predictions on each test row: intervals from predictions are about a third
    narrower. Trials of one number should have the same split for all competitors.

    Args:
        frame: of pandas. It has the columns ``dataset, trial, competitor``, and either the metric's own column, a row
            a trial; or ``row, label, prediction``, a row a test row of a trial. ``row`` is its number in the table, by
            which it has one label in all trials. In place of ``prediction`` there may be a column ``probability_CLASS``
            for each class, which metrics such as ``auroc`` and ``log_loss`` need.
        metric: one of `scarf_lightning.metrics`, such as ``accuracy`` or ``rmse``.
        reference: the competitor that the others are compared with; with ``factors`` that of the first value of each if
            not given.
        factors: columns that stand in the place of ``competitor``, whose values the frame holds in all combinations:
            each value is compared with the first of its column over all settings of the others, and each two columns
            have an interaction.
        labels: the column with the number of labels that a competitor learnt from. Competitors are compared at each
            number, and a gain is also said as labels: how many times as many the reference needs for the same metric,
            by its learning curve.
        margin: a difference no larger than this is of no practical consequence; a part of the reference's value for
            metrics without a largest value, such as ``rmse``.
        test_to_train: test rows over training rows of the splits; used without predictions.
        looks: the numbers of trials, of all tables together, after which you have looked at these competitors before.
            Answers are then as strict as they must be to be false in at most 5 % of all cases, however often you look;
            see `looks`.

    Raises:
        UsageError: a column is missing or holds an impossible value, a trial occurs twice, the metric or the reference
            is unknown, an option is out of range, or nothing can be compared with the reference.

    >>> import pandas as pd
    >>> trials = [("wine", trial, "forest", 0.97 + trial / 1000) for trial in range(10)]
    >>> trials += [("wine", trial, "tree", 0.89 + trial / 800) for trial in range(10)]
    >>> frame = pd.DataFrame(trials, columns=["dataset", "trial", "competitor", "accuracy"])
    >>> print(compare(frame, metric="accuracy", reference="tree"))
    forest beside tree on wine: helps; +7.89 points of accuracy (95 %: +7.78 to +7.99).
    """
    measure = metric_named(metric)
    _check_options(margin, test_to_train, measure)
    before = _looks(looks)
    check_frame(frame)
    settings: dict[str, Setting] = {}
    if factors:
        if labels is not None:
            raise UsageError("factors and labels are two questions; compare the factors at one number of labels.")
        frame, settings = _with_competitors(frame, factors)
    by_labels = tables_by_labels(frame, labels, measure, test_to_train)
    names = list(dict.fromkeys(name for tables in by_labels.values() for _, name in tables))
    if reference is None:
        if not settings:
            raise UsageError(f"compare needs a reference; the competitors of this frame are: {', '.join(names)}.")
        reference = next(iter(settings))
    reference = str(reference)
    if reference not in names:
        fault = f"reference={reference} is no competitor with a value of {measure.name} in this frame"
        raise UsageError(unknown_name(fault, reference, names, "its competitors"))
    effects: list[Judged] = []
    if factors:
        effects = _effects(by_labels[math.nan], factors, settings, measure, margin, before)
    comparisons = []
    for name in names:
        for n, tables in by_labels.items():
            shared = _shared(tables, name, reference) if name != reference else {}
            if shared:
                number = None if labels is None else n
                comparisons.append(
                    judged(
                        BESIDE,
                        shared,
                        measure,
                        margin,
                        name=name,
                        reference=reference,
                        context="" if number is None else f"{number:,g} labels",
                        labels=number,
                        against=reference,
                    )
                )
    if not comparisons:
        raise UsageError(f"No other competitor shares a table and a trial with {reference}; name another reference.")
    comparisons = _best_first(claimed_together(_adjusted_for_looks(comparisons, before, margin), margin))
    return ComparedResults(
        reference=reference,
        metric=measure,
        margin=margin,
        comparisons=comparisons,
        levels=levels_of_tables(by_labels, measure, with_labels=labels is not None),
        effects=effects,
        worths=[_worth(by_labels, each, measure) for each in comparisons if each.labels is not None],
    )


def _check_options(margin: float, test_to_train: float, metric: Metric) -> None:
    """Refuse a margin or a ratio out of range."""
    lowest, highest = metric.bounds
    largest = highest - lowest if math.isfinite(highest - lowest) else 1.0
    if not isinstance(margin, Real) or not 0 <= margin < largest:
        raise UsageError(f"margin={margin} needs to be 0 or more and below {largest:g}; {MARGIN:g} is the default.")
    if not isinstance(test_to_train, Real) or not 0 <= test_to_train < math.inf:
        raise UsageError(f"test_to_train={test_to_train} is no ratio; give test rows over training rows, as 0.25.")


def _looks(trials: Sequence[int]) -> list[Look]:
    """Looks at these numbers of trials, of which nothing but the number is known."""
    if not isinstance(trials, Sequence) or not all(isinstance(n, Integral) and n >= 1 for n in trials):
        raise UsageError(f"looks={trials} needs a list of whole numbers from 1 up, such as looks=[5, 10].")
    return [Look(n) for n in trials]


def _adjusted_for_looks(comparisons: Sequence[Judged], before: Sequence[Look], margin: float) -> list[Judged]:
    """The comparisons with levels that hold after earlier looks at all of them."""
    # Who has not looked before spends the whole level at once.
    if not before:
        return list(comparisons)
    return [replace(each, verdict=after_looks(each.verdict, before, margin)) for each in comparisons]


def _best_first(comparisons: Sequence[Judged]) -> list[Judged]:
    """The comparisons by their differences, but those of a competitor together, in the order of their labels."""
    best: dict[str, float] = {}
    for each in comparisons:
        best[each.name] = max(best.get(each.name, -math.inf), each.verdict.difference)
    return sorted(comparisons, key=lambda each: -best[each.name])


def _with_competitors(frame: pd.DataFrame, factors: Sequence[str]) -> tuple[pd.DataFrame, dict[str, Setting]]:
    """The frame with a competitor for each setting of the factors, and the setting of each."""
    if isinstance(factors, str) or len(set(factors)) < max(2, len(factors)):
        raise UsageError("factors needs two columns or more, each once; one is a competitor.")
    for column in factors:
        if column not in frame.columns:
            raise UsageError(f"The frame lacks the column {column}, which factors names.")
        if frame[column].isna().any():
            raise UsageError(f"The column {column} has rows without a value, and is a factor; fill or drop these rows.")
    row_settings = list(zip(*(frame[column] for column in factors), strict=True))
    settings = {", ".join(map(str, setting)): setting for setting in dict.fromkeys(row_settings)}
    names = [", ".join(map(str, setting)) for setting in row_settings]
    return frame.assign(competitor=names), settings


def _effects(
    tables: Tables,
    factors: Sequence[str],
    settings: Mapping[str, Setting],
    metric: Metric,
    margin: float,
    before: Sequence[Look],
) -> list[Judged]:
    """The effects of the factors and their interactions, over the tables that have all settings."""
    values = {}
    for place, factor in enumerate(factors):
        values[factor] = list(dict.fromkeys(setting[place] for setting in settings.values()))
    by_table: dict[str, dict[Setting, Trials]] = {}
    for (dataset, competitor), trials in tables.items():
        by_table.setdefault(dataset, {})[settings[competitor]] = trials
    n_settings = math.prod(map(len, values.values()))
    whole: dict[str, Cells] = {name: cells for name, cells in by_table.items() if len(cells) == n_settings}
    if not whole:
        most = max(map(len, by_table.values()))
        raise UsageError(f"factors needs all {n_settings} combinations on a table, and this frame has {most} of them.")
    effects = []
    for contrast in (*main_effects(values), *interactions(values)):
        name, reference = (" × ".join(map(str, each)) for each in (contrast.values, contrast.references))
        effect = judged(contrast, whole, metric, margin, name=name, reference=reference)
        if not effect.verdict.trials:
            raise UsageError(
                f"{name} and {reference} of {' × '.join(contrast.factors)} have no trial in common over all settings; "
                "run every combination on the same trials."
            )
        effects.append(effect)
    return claimed_together(_adjusted_for_looks(effects, before, margin), margin)


def _shared(tables: Tables, name: str, reference: str) -> dict[str, Cells]:
    """The trials of a competitor and of the reference, by each table on which both have a common one."""
    shared: dict[str, Cells] = {}
    for (dataset, competitor), trials in tables.items():
        others = tables.get((dataset, reference))
        if competitor == name and others is not None and trials.values.keys() & others.values.keys():
            shared[dataset] = {COMPETITOR: trials, REFERENCE: others}
    return shared


def _worth(by_labels: Mapping[float, Tables], comparison: Judged, metric: Metric) -> Worth | None:
    """The worth of a competitor at one number of labels, over the tables that it shares with the reference."""
    assert comparison.labels is not None
    here = by_labels[comparison.labels]
    trials = [here[dataset, comparison.name] for dataset in comparison.datasets]
    curves = []
    for dataset in comparison.datasets:
        place = dataset, comparison.reference
        curves.append({n: tables[place] for n, tables in by_labels.items() if place in tables})
    return worth_of_trials(trials, curves, comparison.labels, metric)
