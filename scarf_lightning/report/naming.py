"""What cells are called in tables and figures: ``pretrain=scarf`` is SCARF, ``corruption.rate=0.6`` is rate 0.6."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

Labels = Mapping[str, Mapping[str, str]]
"""By axis, what people call its parts; a part without a label is called by its name with spaces."""

VALUES = {"fit_on": {"all": "fitted on all rows", "train": "fitted on training rows"}}
"""Values of options that are not parts and need a phrase."""
MOST_COLUMNS = 3
"""More columns than this are called "setting" in a heading."""
PHASES = {"pretrain": "pre-training", "finetune": "fine-tuning"}
"""Sections whose options are named with their section: both phases have a learning rate."""
SECTIONS = {**PHASES, "regime": "labels"}
TELLING = ("regime", "pretrain", "method")
"""Axes whose labels say of what they are."""
ALWAYS_TOLD = ("dataset", "regime", "pretrain")
"""Columns that a name holds even if their values are the usual ones."""


@dataclass(frozen=True)
class Words:
    """How the cells of a report are named.

    Attributes:
        usual: the axis columns of a cell without overrides; a name leaves out what is usual.
        labels: what people call the parts.
    """

    usual: Mapping[str, Any] = field(default_factory=dict)
    labels: Labels = field(default_factory=dict)


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
    text = f"{value:g}" if isinstance(value, float) else str(value)
    if column in VALUES:
        return VALUES[column].get(text, text)
    if column in ("dataset", "seed"):
        return text if column == "dataset" else f"seed {text}"
    if option:
        named = labels.get(column, {}).get(text, text)
        name = column_in_words(column if section in PHASES else option[-1])
        return named if alone else f"{name} {named}"
    if text == "none":
        return f"no {column_in_words(column)}"
    named = labels.get(column, {}).get(text, text.replace("_", " "))
    return named if alone or column in TELLING else f"{named} {column_in_words(column)}"


def in_words(values: Mapping[str, Any], labels: Labels, *, alone: bool = False) -> str:
    """A setting of these columns in words; a column that the cell does not use is None and left out. One value may
    stand ``alone`` under the name of its column."""
    used = {column: value for column, value in values.items() if value is not None}
    if not used:
        return f"{columns_in_words(list(values))} not used"
    return ", ".join(value_in_words(column, value, labels, alone=alone) for column, value in used.items())


def named_by(cells: pd.DataFrame, columns: Sequence[str], words: Words) -> "pd.Series[str]":
    """A name for each cell from these columns; different settings never share a name. What is usual is left out of a
    name that has more."""
    settings = list(zip(*(cells[column] for column in columns), strict=True))
    names = {}
    for setting in dict.fromkeys(settings):
        values = dict(zip(columns, setting, strict=True))
        telling = {c: v for c, v in values.items() if c in ALWAYS_TOLD or v is None or v != words.usual.get(c)}
        told = telling if any(v is not None for v in telling.values()) else values
        names[setting] = in_words(told, words.labels, alone=len(columns) == 1)
    alike = {name for name in names.values() if list(names.values()).count(name) > 1}
    for setting, name in names.items():
        if name in alike:
            names[setting] = ", ".join(f"{c}={v}" for c, v in zip(columns, setting, strict=True) if v is not None)
    return pd.Series([names[setting] for setting in settings], index=cells.index, dtype=object)


def varying(cells: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """The columns in which cells of one dataset differ.

    Differences between datasets do not count: the paper leaves three datasets unscaled, which makes no axis of scaling.
    """
    by_dataset = cells.groupby("dataset", sort=False)
    return [column for column in columns if column != "dataset" and by_dataset[column].nunique(dropna=False).max() > 1]


def distinguishing(cells: pd.DataFrame, columns: Sequence[str], beyond: Sequence[str] = ()) -> list[str]:
    """The fewest columns, axes before their options, that tell apart all cells that the columns tell apart together,
    beyond what some columns tell apart already.

    An option that follows from another column, such as a batch size from the pre-training, is not among them.
    """
    chosen = list(beyond)
    groups = len(cells[chosen].astype(str).drop_duplicates()) if chosen else 1
    for column in sorted(varying(cells, columns), key=lambda name: name.count(".")):
        apart = len(cells[[*chosen, column]].astype(str).drop_duplicates())
        if apart > groups:
            chosen.append(column)
            groups = apart
    return chosen[len(beyond) :]
