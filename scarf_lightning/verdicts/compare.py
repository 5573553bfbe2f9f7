"""The door to the evaluator: effects of results of any library, from a long frame of metrics or of predictions.

A frame has the columns ``dataset``, ``trial`` and ``competitor``, or several columns in place of ``competitor``; a
column with numbers of labels, if they vary; and one of these:

- **metrics**, a row a trial: a column of the metric's name, empty where a trial has no value;
- **predictions**, a row a test row of a trial: ``row``, its number in the table, by which it has one ``label`` in all
  trials, and ``prediction``, a class or a number, or a column ``probability_CLASS`` for each class.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from ..errors import UsageError
from ..intervals import TEST_TO_TRAIN, UNBOUNDED
from ..metrics import FRACTION, Floats, Labels, Metric, metric_named
from .answers import MARGIN, Look
from .effects import Cell, Effect, Plan, answered, effects_of, frame_of
from .rows_and_fits import rows_by_metric
from .trials import Trials
from .words import sentences
from .worth import worth_sentences, worths_of

NOT_USED = "not used"
"""Placeholder in a competitor's name for an unused column; not "none", which is an option's name."""
PROBABILITY = "probability_"
"""Columns that begin with it hold the probability of the class that follows."""
ROUNDING = 1e-6
"""The part by which float32 may change a number."""
ROUNDED = 0.005
"""The most by which a probability of two decimals is rounded."""
N_LABELS, VALUE, TEST_ROWS = "number of labels", "value of a trial", "test rows of a trial"
"""Columns by names that no user's column has."""
PLACE = [N_LABELS, "dataset", "competitor"]


@dataclass(frozen=True)
class ComparedResults:
    """The effects of a frame.

    Attributes:
        metric: what competitors are compared by.
        margin: a difference no larger than this is of no practical consequence.
        effects: of the axes and their interactions, the changes of a star, or the competitors, best first.
        cells: of the frame.
        frame: the frame of effects, see `effects.frame_of`.
        levels: a row a table and competitor: ``dataset, competitor, labels, mean, low, high, trials``.
        worth_frame: over six tables or more and several numbers of labels, a row a competitor and number of labels:
            ``competitor, reference, labels, worth, worth_low, worth_high, least, most, curve, n``.
        sentences: the answers, as a report has them, and the worth in labels of each competitor.
    """

    metric: Metric
    margin: float
    effects: Sequence[Effect]
    cells: Sequence[Cell]
    frame: pd.DataFrame
    levels: pd.DataFrame
    worth_frame: pd.DataFrame
    sentences: Sequence[str]

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
        reference: the competitor that the others are compared with, the first one if not given; with ``factors`` also a
            value of one, such as ``scaling=minmax``.
        factors: columns that replace ``competitor``. If the frame holds all combinations of their values,
            each value is compared with the first of its column over all settings of the others, and each two columns
            have an interaction. If all settings differ from one in a single column, each change is compared with it.
            Else each setting is compared with the reference. A setting does not use a column in which it is null.
        labels: the column with the number of labels that a competitor learnt from. Competitors are compared at each
            number. Over six tables or more a gain is also given in labels: how many times as many the reference needs
            for the same metric, by its learning curve.
        margin: a difference no larger than this is of no practical consequence; a part of the reference's value for
            metrics without a largest value, such as ``rmse``.
        test_to_train: test rows over training rows of the splits; used without predictions.
        n_trained: rows that a trial trains on with their labels, used with predictions; all that it does not test if
            not given.
        looks: the numbers of trials, of all tables together, after which you have looked at these competitors before.
            Answers are then as strict as they must be to be false in at most 5 % of all cases, however often you look;
            see `answers`.

    Raises:
        UsageError: a column is missing or holds an impossible value, a trial occurs twice, the metric or the reference
            is unknown, an option is no number, or nothing can be compared with the reference.

    >>> import pandas as pd
    >>> trials = [("wine", trial, "forest", 0.97 + trial / 1000) for trial in range(10)]
    >>> trials += [("wine", trial, "tree", 0.89 + trial / 800) for trial in range(10)]
    >>> frame = pd.DataFrame(trials, columns=["dataset", "trial", "competitor", "accuracy"])
    >>> results = compare(frame, metric="accuracy", reference="tree")
    >>> results.frame["answer"].item(), round(results.frame["difference"].item(), 4)
    ('helps', 0.0789)
    """
    fields = {"test_to_train": test_to_train, "n_trained": n_trained}
    for name, value in ({"margin": margin} | fields).items():
        if not isinstance(value, Real) or not value >= 0:
            raise UsageError(f"{name}={value} needs to be a number of 0 or more.")
    measure = metric_named(metric)
    # An array has no names of columns, so the first one is refused as lacking.
    frame = pd.DataFrame(frame)
    cells = [] if frame.empty else cells_of(frame, measure, factors, labels, **fields)
    if not cells:
        raise UsageError(f"The frame has no value of {metric}; fill its column.")
    reference_name = None if reference is None else _text(reference)
    # The first setting is the usual one.
    plan = Plan(cells, factors, factors, measure, reference_name, cells[0].options, margin)
    effects = answered(effects_of(plan)[0], lambda _: [Look(trials) for trials in looks])
    if not effects:
        raise UsageError(
            "No competitor shares a table and a trial with the reference; add one, or name another reference."
        )
    levels = [
        (cell.table, cell.name, cell.labels, *cell.trials.level(measure), len(cell.trials.values)) for cell in cells
    ]
    worths = worths_of(effects, cells)
    worth_rows = [{"competitor": effect.what, "reference": effect.reference} | vars(worth) for effect, worth in worths]
    return ComparedResults(
        measure,
        margin,
        effects,
        cells,
        frame_of(effects),
        pd.DataFrame(levels, columns=["dataset", "competitor", "labels", "mean", "low", "high", "trials"]),
        pd.DataFrame(worth_rows),
        [*sentences(effects), *worth_sentences(worths)],
    )


def cells_of(
    frame: pd.DataFrame, metric: Metric, factors: Sequence[str] = (), labels: str | None = None, **fields: Any
) -> list[Cell]:
    """The cells of a frame, ascending in their numbers of labels. Arguments and errors are those of `compare`.

    Args:
        fields: arguments of `Trials`.

    >>> frame = pd.DataFrame({"dataset": ["wine"], "trial": [0], "competitor": ["tree"], "accuracy": [0.9]})
    >>> (cell,) = cells_of(frame, metric_named("accuracy"))
    >>> cell.table, cell.name, cell.trials.values
    ('wine', 'tree', {0: 0.9})
    """
    if factors and (isinstance(factors, str) or len(set(factors)) < max(2, len(factors))):
        raise UsageError("factors needs two columns or more, each once; one is a competitor.")
    is_measured = metric.name in frame.columns
    prediction_columns = [str(column) for column in frame.columns if str(column).startswith(PROBABILITY)]
    if "number" in metric.targets or not prediction_columns:
        prediction_columns = ["prediction"]
    columns = [metric.name] if is_measured else ["row", "label", *prediction_columns]
    keys = ["dataset", "trial", *([labels] if labels else [])]
    for column in (*keys, *(factors or ["competitor"]), *columns):
        if column not in frame.columns:
            raise UsageError(
                f"The frame lacks the column {column}; it needs dataset, trial, competitor, and {metric.name} for each "
                "trial or row, label and prediction for each test row."
            )
    # A setting does not use a factor without a value.
    required_columns = [*keys, *([] if factors else ["competitor"]), *([] if is_measured else columns)]
    if frame[required_columns].isna().any(axis=None):
        raise UsageError(
            f"The frame has rows without a value of {', '.join(required_columns)}; fill or drop these rows."
        )
    frame, options = _with_competitors(frame, factors or ["competitor"])
    # Names may be numbers in one part of a frame and texts in another.
    n_labels = _numbers(frame, labels, (1.0, math.inf)) if labels else 0.0
    frame = frame.astype({"dataset": str}).assign(**{N_LABELS: n_labels})
    frame = frame.sort_values(N_LABELS, kind="stable", ignore_index=True)
    is_repeated = frame.duplicated([*PLACE, "trial", *([] if is_measured else ["row"])])
    if is_repeated.any():
        raise UsageError(f"{_place(frame[is_repeated])} has a row twice; keep one of the two.")
    if is_measured:
        trials = frame.assign(**{VALUE: _numbers(frame, metric.name, metric.bounds)}).dropna(subset=VALUE)
    else:
        trials = _trials_of_predictions(frame, metric, prediction_columns)
    cells = []
    groups: Any = trials.groupby(PLACE, sort=False)
    for (n, table, name), group in groups:
        values = dict(zip(group["trial"], group[VALUE], strict=True))
        test_rows = {} if is_measured else dict(zip(group["trial"], group[TEST_ROWS], strict=True))
        cell_trials = Trials(values, test_rows, **fields)
        cells.append(Cell(table, name, cell_trials, options[name], f"{n:,g} labels" if labels else "", n or None, n))
    return cells


def _with_competitors(frame: pd.DataFrame, factors: Sequence[str]) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The frame with a competitor for each setting of the factors, as texts, and the options of each."""
    texts = frame[list(factors)].astype(object).map(_text, na_action="ignore")
    names = texts.fillna(NOT_USED).agg(", ".join, axis=1)
    options = {}
    for name, setting in zip(names, texts.to_dict("records"), strict=True):
        options[name] = {axis: text for axis, text in setting.items() if isinstance(text, str)}
    return frame.assign(competitor=names), options


def _text(value: Any) -> str:
    """A value as the command line has it: 1.0 is 1."""
    return value if isinstance(value, str) else str(value).removesuffix(".0")


def _trials_of_predictions(frame: pd.DataFrame, metric: Metric, columns: Sequence[str]) -> pd.DataFrame:
    """The trials of a frame with a row a test row, whose columns are `PLACE`, ``trial``, `VALUE` and `TEST_ROWS`."""
    n_labels = frame.groupby(["dataset", "row"])["label"].nunique()
    for row in n_labels.index[n_labels > 1]:
        raise UsageError(
            "Row {} {} has two labels; the column row needs the number of the row in the table, and label one value "
            "for each.".format(*row)
        )
    predictions, labels = _predictions_and_labels(frame, metric, columns)
    # Rows may have any names, so their ranks number them.
    numbers = pd.factorize(frame["row"], sort=True)[0]
    trials = []
    places: Any = frame.groupby([*PLACE, "trial"], sort=False).indices
    for place, positions in places.items():
        # Two competitors may list their rows in different orders, and are compared row by row.
        order = positions[np.argsort(numbers[positions])]
        rows_by_name = rows_by_metric([metric], predictions[order], labels[order], numbers[order])
        # A metric may be undefined on a trial's test rows, such as the AUROC of one class.
        trials += [(*place, float(rows.values.mean()), rows) for rows in rows_by_name.values()]
    return pd.DataFrame(trials, columns=[*PLACE, "trial", VALUE, TEST_ROWS])


def _predictions_and_labels(frame: pd.DataFrame, metric: Metric, columns: Sequence[str]) -> tuple[Floats, Labels]:
    """Predictions and labels of all rows as metrics take them."""
    if "number" in metric.targets:
        return _numbers(frame, "prediction"), _numbers(frame, "label")
    labels = frame["label"].astype(str)
    if columns == ["prediction"]:
        predicted_classes = frame["prediction"].astype(str)
        if not predicted_classes.isin(labels).any():
            raise UsageError("The column prediction holds no class of the column label; name the classes alike.")
        # Classes that only predictions have count as classes too. A predicted class is a certain one.
        classes = sorted({*labels, *predicted_classes})
        predictions = np.eye(len(classes))[pd.Categorical(predicted_classes, categories=classes).codes]
    else:
        classes = [column.removeprefix(PROBABILITY) for column in columns]
        predictions = np.column_stack([_numbers(frame, column, FRACTION) for column in columns])
        # Each class may have been rounded.
        is_off = np.abs(predictions.sum(axis=1) - 1) > ROUNDED * len(columns)
        if is_off.any():
            raise UsageError(
                f"Probabilities of {_place(frame[is_off])} do not sum to 1; give a column for every class."
            )
    if unknown := sorted({*labels} - {*classes}):
        raise UsageError(f"The label {unknown[0]} has no column {PROBABILITY}{unknown[0]}; add it.")
    return predictions, np.asarray(pd.Categorical(labels, categories=classes).codes, dtype=np.int64)


def _numbers(frame: pd.DataFrame, column: str, bounds: tuple[float, float] = UNBOUNDED) -> Floats:
    """The numbers in a column, ``(N,)``, NaN where it is empty, cut at the bounds that rounding alone may leave."""
    values = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    lowest, highest = bounds
    is_inside = (values >= lowest - ROUNDING) & (values <= highest + ROUNDING) & np.isfinite(values)
    is_wrong = ~is_inside & frame[column].notna().to_numpy()
    if is_wrong.any():
        raise UsageError(
            f"{column} needs numbers between {lowest:g} and {highest:g}, and {_place(frame[is_wrong])} has "
            f"{frame[column][is_wrong].iloc[0]}; divide percentages by 100, and turn the sign of a loss."
        )
    return np.asarray(np.clip(values, lowest, highest))


def _place(rows: pd.DataFrame) -> str:
    """The competitor and trial of the first of some rows."""
    return "competitor {competitor} in trial {trial} of {dataset}".format(**rows.iloc[0])
