"""Names of what is compared: the overrides in which cells differ.

Every sentence, table, figure and file of a report takes its names from here, so one competitor has one name. The module
works on plain rows, without pandas, so that the terminal can use it too.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..results.identity import NULL

Row = Mapping[str, Any]

ALL_LABELS = "all labels"
BUDGET = ("regime.labels", "regime.labelled")
"""Options of a regime that say how many rows keep their labels, or which share of them."""


def is_context(column: str) -> bool:
    """True for a column across whose values nothing is compared: how many labels there are, and the seed."""
    section, _, _ = column.partition(".")
    return section in ("regime", "seed")


def options_in(overrides: Iterable[str]) -> list[str]:
    """The columns that the overrides of a cell set: ``loss@cotrain.loss=simclr`` sets ``cotrain.loss``."""
    columns = []
    for override in overrides:
        key, _, _ = override.partition("=")
        # Hydra's signs for what is added or taken away are no part of a name.
        group, _, package = key.lstrip("+~").partition("@")
        # A column has the name of its place in the configuration, and not of the folder with its choices.
        columns.append((package or group).replace("/", "."))
    return columns


def distinguishing_columns(rows: Sequence[Row], columns: Sequence[str], leading: Sequence[str] = ()) -> list[str]:
    """The columns that distinguish rows: all that the user varied, then as few others as possible.

    A column that some rows do not use (None) comes after those that all of them use, and an option after the axes. So
    a name says what was chosen, and not what follows from it: not the encoding, which logistic regression does without.
    Differences between datasets do not count: the paper leaves three datasets unscaled, which makes no axis of scaling.
    """
    varying = [column for column in columns if column != "dataset" and _varies(rows, column)]
    varied = set[str]()
    unused = set[str]()
    for column in varying:
        values = _settings(rows, [column])
        if NOT_USED in values:
            unused.add(column)
        # An option that one cell sets and others do not use varies no more than what makes them use it.
        if column in leading and len(values - {NOT_USED}) > 1:
            varied.add(column)

    def rank(column: str) -> tuple[bool, bool, int]:
        # An axis has no dot in its name, and each level of its options has one more.
        return column not in varied, column in unused, column.count(".")

    name_columns: list[str] = []
    groups = 1
    # The sort is stable: columns of one rank keep their order.
    for column in sorted(varying, key=rank):
        n_settings = len(_settings(rows, [*name_columns, column]))
        # A column that splits no group further follows from those that were chosen before.
        if column in varied or n_settings > groups:
            name_columns.append(column)
            groups = n_settings
    return [column for column in columns if column in name_columns]


def _varies(rows: Sequence[Row], column: str) -> bool:
    """True if a column has several values on one dataset."""
    first_values: dict[Any, Any] = {}
    for row in rows:
        value = row.get(column)
        first_value = first_values.setdefault(row.get("dataset"), value)
        # Most cells of a sweep share the very objects, and a text takes ten times as long as the look.
        if value is not first_value and text_of(value) != text_of(first_value):
            return True
    return False


Setting = tuple[str, ...]
"""The values of some columns, as texts."""
NOT_USED: Setting = (NULL,)
"""The setting of one column that a cell does not use."""


def _settings(rows: Iterable[Row], columns: Sequence[str]) -> set[Setting]:
    """All settings of these columns."""
    return {tuple(text_of(row.get(column)) for column in columns) for row in rows}


def override(column: str, value: Any) -> str:
    """One value of a column, as the command line has it."""
    return f"{column}={text_of(value)}"


def setting_name(row: Row, columns: Sequence[str]) -> str:
    """The name of a cell: its value of each of these columns that it uses.

    >>> setting_name({"pretrain": "scarf", "method": None, "corruption.rate": 0.3}, ["pretrain", "method"])
    'pretrain=scarf'
    """
    used_columns = [column for column in columns if row.get(column) is not None]
    # Logistic regression beside networks of two depths, for instance, has no depth.
    return ", ".join(override(column, row.get(column)) for column in used_columns or columns)


@dataclass(frozen=True)
class Competition:
    """The cells of a report as competitors.

    Attributes:
        compared: the columns that make cells competitors.
        names: of the cells by label, made of the columns in which competitors differ.
        contexts: of the cells, in words.
        budgets: how many labels each cell trains with, infinity for all, a share below one, if they differ in it and
            compete at each number; else None.
    """

    compared: Sequence[str]
    names: Mapping[int, str]
    contexts: Mapping[int, str]
    budgets: Mapping[int, float] | None = None


def competition(rows: Mapping[int, Row], compared: Sequence[str], contexts: Sequence[str]) -> Competition:
    """The cells as competitors. A number of labels is no competitor: two cells meet at the same one.

    Args:
        rows: of the cells, by label.
        compared, contexts: the columns in which they differ, those that make competitors and those that do not.
    """

    def names_by(columns: Sequence[str]) -> dict[int, str]:
        return {label: setting_name(row, columns) for label, row in rows.items()}

    # Numbers of labels, seeds or regimes that are all that the user varied are compared with each other.
    columns, contexts = (compared, contexts) if compared else (contexts, [])
    names = names_by(columns or ["pretrain", "method"])
    budgets = _label_budgets(rows, contexts) if contexts else None
    # By the budget: two regimes may ask for one number of labels in two ways.
    context_names = (
        names_by(contexts) if budgets is None else {label: labels_in_words(n) for label, n in budgets.items()}
    )
    return Competition(compared, names, context_names, budgets)


def _label_budgets(rows: Mapping[int, Row], contexts: Sequence[str]) -> dict[int, float] | None:
    """The number of labels that each cell trains with; None unless cells differ in it, and in no other context."""
    # A curve over labels has one point a number of labels, so nothing else may differ, such as the seed.
    if set(contexts) - {"regime", *BUDGET}:
        return None
    budgets = {label: _budget(row) for label, row in rows.items()}
    # Noise in labels, for instance, is no number of them.
    if any(map(math.isnan, budgets.values())):
        return None
    return budgets if len(set(budgets.values())) > 1 else None


def _budget(row: Row) -> float:
    """The number of labels that a cell trains with; NaN if its regime does anything else to labels."""
    if row.get("regime") == "full":
        return math.inf
    for column in BUDGET:
        if row.get(column) is not None:
            return float(row[column])
    return math.nan


def labels_in_words(labels: float) -> str:
    """A budget of labels: a number of rows, a share below one, infinity for all."""
    if labels == math.inf:
        return ALL_LABELS
    return f"{100 * labels:g} % of the labels" if labels < 1 else f"{labels:g} labels"


def text_of(value: Any) -> str:
    """A value as the command line and sweep files have it."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def named(items: list[str], longest: int = 8) -> str:
    """A list in words: the first items, and how many more there are. Semicolons separate items that hold commas."""
    first = items[:longest]
    separator = "; " if any("," in item for item in first) else ", "
    words = separator.join(first)
    n_others = len(items) - len(first)
    return f"{words} and {n_others} more" if n_others else words


def shortened(names: Iterable[str], longest: int) -> dict[str, str]:
    """A text of at most so many letters for each name, where a figure has no room for more: the options that not all
    names share, or their two ends."""
    options = {name: " ".join(name.split()).split(", ") for name in names}
    shared_options = set.intersection(*map(set, options.values())) if len(options) > 1 else set()
    texts = {
        name: ", ".join(each for each in parts if each not in shared_options) or name for name, parts in options.items()
    }
    half = longest // 2
    return {
        name: text if len(text) <= longest else f"{text[:half]}…{text[half + 1 - longest :]}"
        for name, text in texts.items()
    }
