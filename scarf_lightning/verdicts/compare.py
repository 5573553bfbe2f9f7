"""The door to the evaluator: effects of results of any library, from a frame of metrics or of predictions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real

import pandas as pd

from ..errors import UsageError
from ..intervals import TEST_TO_TRAIN
from ..metrics import Metric, metric_named
from .answers import MARGIN
from .effects import Cell, Effect, Sums, answered, frame_of
from .frame import cells_of
from .looks import Look
from .planning import Plan, effects_of
from .words import sentences
from .worth import Worth, worth_sentence, worths_of


@dataclass(frozen=True)
class ComparedResults:
    """The effects of a frame.

    Attributes:
        metric: what competitors are compared by.
        margin: a difference no larger than this is of no practical consequence.
        effects: of the axes and their interactions, the changes of a star, or the competitors, best first.
        cells: of the frame.
        worths: over six tables or more and several numbers of labels, the worth of each competitor at each of them.
    """

    metric: Metric
    margin: float
    effects: Sequence[Effect]
    cells: Sequence[Cell]
    worths: Sequence[tuple[Effect, Worth]] = ()

    @property
    def frame(self) -> pd.DataFrame:
        """The frame of effects, see `effects.frame_of`."""
        return frame_of(self.effects)

    @property
    def levels(self) -> pd.DataFrame:
        """A row a table and competitor: ``dataset, competitor, mean, low, high, trials``; ``labels`` if they vary."""
        rows = []
        for cell in self.cells:
            mean, low, high = cell.trials.level(self.metric)
            row = {"dataset": cell.table, "competitor": cell.name, "labels": cell.labels}
            rows.append(row | {"mean": mean, "low": low, "high": high, "trials": len(cell.trials.values)})
        levels = pd.DataFrame(rows)
        return levels.drop(columns="labels") if levels["labels"].isna().all() else levels

    @property
    def worth_frame(self) -> pd.DataFrame:
        """A row a competitor and number of labels: ``competitor, reference, labels, worth, worth_low, worth_high,
        least, most, curve, n``; without a row if there are no worths."""
        rows = []
        for effect, worth in self.worths:
            rows.append({"competitor": effect.what, "reference": effect.reference} | worth.columns)
        return pd.DataFrame(rows)

    @property
    def sentences(self) -> list[str]:
        """The answers in sentences, as a report has them, and the worth in labels of each competitor."""
        by_name: dict[str, dict[str, Worth]] = {}
        for effect, worth in self.worths:
            by_name.setdefault(effect.what, {})[f"{worth.labels:,g}"] = worth
        return sentences(self.effects, self.metric) + [worth_sentence(*each) for each in by_name.items()]

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
    n_trained: float = math.inf,
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
        reference: the competitor that the others are compared with; with ``factors`` also a value of one, such as
            ``scaling=minmax``, and the first setting if not given.
        factors: columns that stand in the place of ``competitor``. If the frame holds all combinations of their values,
            each value is compared with the first of its column over all settings of the others, and each two columns
            have an interaction. If all settings differ from one in a single column, each change is compared with it.
            Else each setting is compared with the reference. A setting does not use a column in which it is null.
        labels: the column with the number of labels that a competitor learnt from. Competitors are compared at each
            number. Over six tables or more a gain is also said as labels: how many times as many the reference needs
            for the same metric, by its learning curve.
        margin: a difference no larger than this is of no practical consequence; a part of the reference's value for
            metrics without a largest value, such as ``rmse``.
        test_to_train: test rows over training rows of the splits; used without predictions.
        n_trained: rows that a trial trains on with their labels, used with predictions; all that it does not test if
            not given.
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
    >>> print(compare(frame, metric="accuracy", reference="tree").sentences[0])
    On wine, beside tree: forest helps, +7.89 points of accuracy (95 %: +7.78 to +7.99); better in 10 of 10 trials.
    """
    measure = metric_named(metric)
    _check_options(margin, test_to_train, n_trained, measure)
    before = _looks(looks)
    cells = cells_of(frame, measure, factors, labels, test_to_train=test_to_train, n_trained=n_trained)
    if not cells:
        raise UsageError(f"The frame has no value of {measure.name}; fill its column.")
    if reference is None and not factors:
        names = ", ".join(dict.fromkeys(cell.name for cell in cells))
        raise UsageError(f"compare needs a reference; the competitors of this frame are: {names}.")
    named = None if reference is None else str(reference)
    # The first setting is the usual one.
    plan, by = Plan(cells, factors, factors, named, cells[0].options), Sums(measure, margin)
    effects = answered(effects_of(plan, by)[0], margin, lambda _: before)
    if not effects:
        raise UsageError("No other competitor shares a table and a trial with the reference; name another one.")
    return ComparedResults(measure, margin, effects, cells, worths_of(effects, cells, measure))


def _check_options(margin: float, test_to_train: float, n_trained: float, metric: Metric) -> None:
    """Refuse an option out of range."""
    lowest, highest = metric.bounds
    largest = highest - lowest if math.isfinite(highest - lowest) else 1.0
    if not isinstance(margin, Real) or not 0 <= margin < largest:
        raise UsageError(f"margin={margin} needs to be 0 or more and below {largest:g}; {MARGIN:g} is the default.")
    if not isinstance(test_to_train, Real) or not 0 <= test_to_train < math.inf:
        raise UsageError(f"test_to_train={test_to_train} is no ratio; give test rows over training rows, as 0.25.")
    if not isinstance(n_trained, Real) or not n_trained > 0:
        raise UsageError(f"n_trained={n_trained} is no number of rows; give those that a trial trains on, such as 400.")


def _looks(trials: Sequence[int]) -> list[Look]:
    """Looks at these numbers of trials, of which nothing but the number is known."""
    if not isinstance(trials, Sequence) or not all(isinstance(n, Integral) and n >= 1 for n in trials):
        raise UsageError(f"looks={trials} needs a list of whole numbers from 1 up, such as looks=[5, 10].")
    return [Look(n) for n in trials]
