"""Which cells are compared, what they are called in tables and figures (``pretrain=scarf`` is SCARF,
``corruption.rate=0.6`` is rate 0.6), and their scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from ..errors import UsageError
from ..metrics import Metric
from .loading import CellResults, Labels
from .statistics import Pair

VALUES = {"fit_on": {"all": "fitted on all rows", "train": "fitted on training rows"}}
"""Values of options that are not parts and need a phrase."""
MOST_COLUMNS = 3
"""More columns than this are called "setting" in a heading."""
PHASES = {"pretrain": "pre-training", "finetune": "fine-tuning"}
"""Sections whose options are named with their section: both phases have a learning rate."""
SECTIONS = {**PHASES, "regime": "labels"}
TELLING = ("regime", "pretrain", "method")
"""Axes whose labels need no name of the axis beside them."""
ALWAYS_TOLD = ("dataset", "regime", "pretrain")
"""Columns that a name holds even if their values are the usual ones."""


@dataclass(frozen=True)
class Competitors:
    """Cells as competitors.

    Attributes:
        scores: ``dataset, competitor, trial, value``, as the statistics take them: higher is better, so losses are
            negative. A cell without a finished trial has one row without a value, so that it is counted.
        names: of the competitors that have a score, in the order of the sweep.
        empty: names of those that have none yet.
    """

    scores: pd.DataFrame
    names: list[str]
    empty: list[str]

    @cached_property
    def wanted(self) -> set[tuple[str, str]]:
        """Dataset and name of each cell: in a mixed folder not every competitor meets every dataset."""
        return set(zip(self.scores["dataset"], self.scores["competitor"], strict=True))


def select(results: CellResults, where: Mapping[str, Any]) -> pd.DataFrame:
    """The cells whose columns have these values: one, or a list; None is a cell that does not use the column.

    Raises:
        UsageError: a column is unknown, or no cell is left.
    """
    chosen = results.cells
    need(results, list(where))
    for column, values in where.items():
        allowed = {_plain(value) for value in (values if isinstance(values, list) else [values])}
        chosen = chosen[[_plain(value) in allowed for value in chosen[column]]]
    if chosen.empty:
        conditions = ", ".join(f"{column}={value}" for column, value in where.items())
        raise UsageError(f"No cell has {conditions}.")
    return chosen


def need(results: CellResults, columns: Sequence[str]) -> None:
    """Raise UsageError if the cells lack one of these columns."""
    for column in columns:
        if column not in results.axes:
            near = [known for known in results.axes if known.partition(".")[0] == column.partition(".")[0]]
            raise UsageError(f"No cell uses {column}; the columns are: {', '.join(near or results.axes)}.")


def competing(results: CellResults, cells: pd.DataFrame, columns: Sequence[str], metric: Metric) -> Competitors:
    """Cells as competitors that these columns tell apart.

    Raises:
        UsageError: a column is unknown, or no trial has the metric.
    """
    need(results, columns)
    return named_competitors(results, named_by(results, cells, columns), metric)


def named_competitors(results: CellResults, names: "pd.Series[str]", metric: Metric) -> Competitors:
    """Cells as competitors with these names, by the cells' labels.

    Raises:
        UsageError: no trial has the metric.
    """
    cells = pd.DataFrame({"dataset": results.cells["dataset"], "competitor": names}).loc[names.index]
    trials = results.trials.set_index("cell")[["trial", metric.name]]
    scores = cells.join(trials)  # a cell without trials has a row without values
    if scores["trial"].isna().all():
        raise UsageError("None of these cells has a finished trial.")
    if scores[metric.name].isna().all():
        raise UsageError(f"No trial of these cells has the metric {metric.name}.")
    scores["trial"] = scores["trial"].fillna(0).astype(int)
    scores["value"] = metric.sign * scores.pop(metric.name)
    have = set(scores.loc[scores["value"].notna(), "competitor"])
    order = list(dict.fromkeys(names))
    return Competitors(scores, [name for name in order if name in have], [name for name in order if name not in have])


def grid_over_reference(
    results: CellResults, cells: pd.DataFrame, rows: Sequence[str], columns: Sequence[str], reference: str
) -> tuple[dict[tuple[str, str], Pair], list[str]]:
    """Each (row, column) of these cells against the reference column of the same row: the values of its columns, joined
    by `` + ``.

    Returns:
        The grid, of names as `competing` gives them for ``rows + columns``; and the rows that have no reference.

    Raises:
        UsageError: no row has the reference.
    """
    settings = zip(*(cells[column] for column in columns), strict=True)
    values = [" + ".join(_text(value) for value in setting if value is not None) for setting in settings]
    names = [named_by(results, cells, chosen) for chosen in (rows, columns, [*rows, *columns])]
    every = list(zip(*names, values, strict=True))
    references = {row: name for row, _, name, value in every if value == reference}
    if not references:
        known = ", ".join(dict.fromkeys(values))
        raise UsageError(f"No cell is the reference {reference}; {' + '.join(columns)} has: {known}.")
    compared = [(row, column, name) for row, column, name, value in every if value != reference]
    grid = {(row, column): (name, references[row]) for row, column, name in compared if row in references}
    return grid, [row for row in dict.fromkeys(row for row, _, _ in compared) if row not in references]


def reference_in_words(columns: Sequence[str], reference: str, labels: Labels) -> str:
    """What a figure calls the reference."""
    if len(columns) > 1 and " + " in reference:
        return reference
    return in_words({columns[0]: reference}, labels, alone=True)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    """True is not 1, though Python says so."""
    return str(value) if isinstance(value, bool) else value


def column_in_words(column: str) -> str:
    """``pretrain.batch_size`` is "pre-training batch size"."""
    section, *option = column.split(".")
    return " ".join([SECTIONS.get(section, section), *option]).replace("_", " ")


def columns_in_words(columns: Sequence[str]) -> str:
    """A heading for values of these columns."""
    return ", ".join(map(column_in_words, columns)) if len(columns) <= MOST_COLUMNS else "setting"


def value_in_words(column: str, value: Any, labels: Labels, *, alone: bool = False) -> str:
    """One value of a column, without the column's name if it stands ``alone`` under that name."""
    section, *option = column.split(".")
    text = _text(value)
    if column in VALUES:
        return VALUES[column].get(text, text)
    if column in ("dataset", "seed"):
        return text if column == "dataset" else f"seed {text}"
    if option:
        named = labels.get(column, {}).get(text, text)
        return named if alone else f"{column_in_words(column if section in PHASES else option[-1])} {named}"
    if text == "none":
        return f"no {column_in_words(column)}"
    named = labels.get(column, {}).get(text, text.replace("_", " "))
    return named if alone or column in TELLING else f"{named} {column_in_words(column)}"


def in_words(values: Mapping[str, Any], labels: Labels, *, alone: bool = False) -> str:
    """A setting of these columns in words, without the columns that the cell does not use (None). One value may stand
    ``alone`` under the name of its column."""
    used = {column: value for column, value in values.items() if value is not None}
    if not used:
        return f"{columns_in_words(list(values))} not used"
    return ", ".join(value_in_words(column, value, labels, alone=alone) for column, value in used.items())


def named_by(
    results: CellResults, cells: pd.DataFrame, columns: Sequence[str], *, tells_usual: bool = False
) -> "pd.Series[str]":
    """A name for each of these cells from these columns; different settings never share a name.

    A name leaves out usual values if it has others, unless it ``tells_usual`` ones too.
    """
    usual = {} if tells_usual else results.usual
    settings = list(zip(*(cells[column] for column in columns), strict=True))
    names = {}
    for setting in dict.fromkeys(settings):
        values = dict(zip(columns, setting, strict=True))
        telling = {c: v for c, v in values.items() if c in ALWAYS_TOLD or v is None or v != usual.get(c)}
        told = telling if any(v is not None for v in telling.values()) else values
        names[setting] = in_words(told, results.labels, alone=len(columns) == 1)
    alike = {name for name in names.values() if list(names.values()).count(name) > 1}
    for setting, name in names.items():
        if name in alike:
            names[setting] = ", ".join(f"{c}={v}" for c, v in zip(columns, setting, strict=True) if v is not None)
    return pd.Series([names[setting] for setting in settings], index=cells.index, dtype=object)


def distinguishing(cells: pd.DataFrame, columns: Sequence[str], beyond: Sequence[str] = ()) -> list[str]:
    """The fewest columns, axes before their options, that tell apart all cells that the columns tell apart together,
    beyond what some columns tell apart already.

    An option that follows from another column, such as a batch size from the pre-training, is not among them.
    Differences between datasets do not count: the paper leaves three datasets unscaled, which makes no axis of scaling.
    """
    by_dataset = cells.groupby("dataset", sort=False)
    varying = [c for c in columns if c != "dataset" and by_dataset[c].nunique(dropna=False).max() > 1]
    chosen = list(beyond)
    groups = len(cells[chosen].astype(str).drop_duplicates()) if chosen else 1
    for column in sorted(varying, key=lambda name: name.count(".")):
        apart = len(cells[[*chosen, column]].astype(str).drop_duplicates())
        if apart > groups:
            chosen.append(column)
            groups = apart
    return chosen[len(beyond) :]
