"""Names of what is compared, made from the options that the user varied.

Every sentence, table, figure and file of a report takes its names from here, so one competitor has one name. The module
works on plain rows, without pandas, so that the terminal can use it too.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..results.identity import NULL, is_of_reading

Row = Mapping[str, Any]
Labels = Mapping[str, Mapping[str, str]]
"""By axis, the labels of its parts; a part without a label is called by its name with spaces."""

NO_PRETRAINING = "no pre-training"
THE_NETWORK = "the network"
"""Control beside methods that train no network of ours."""
ALL_LABELS = "all labels"

OF_DATASET = "dataset."
DROPPED = "dataset.drop"
VALUES = {"fit_on": {"all": "fitted on all rows", "train": "fitted on training rows"}}
"""Values of options that are not parts and need a phrase."""
READING_IN_WORDS = {
    "drop": ("without {}", "all columns"),
    "categorical": ("{} as categories", "categories as found"),
    "numeric": ("{} as numbers", "numbers as found"),
    "dates": ("{} as dates", "dates as found"),
    "text": ("{} as text", "text as found"),
    "separator": ("fields separated by {}", "separator as found"),
    "decimal": ("decimal mark {}", "decimal mark as found"),
    "encoding": ("letters in {}", "letters as found"),
    "weight": ("rows weighted by {}", "rows of equal weight"),
    "unlabelled": ("with the rows of {}", "without more rows"),
}
"""Each option of reading in words: where it is set, and where it is not."""

MOST_COLUMNS = 3
"""More columns than this are called "setting" in a heading, and a name leaves out their usual values."""
PHASES = {"pretrain": "pre-training", "finetune": "fine-tuning"}
"""Sections whose options are named with their section: both phases have a learning rate."""
SECTIONS = {**PHASES, "regime": "labels", "dataset": "data"}
TELLING = ("regime", "pretrain", "method")
"""Axes whose labels need no name of the axis beside them."""
ALWAYS_TOLD = ("dataset", "regime", "regime.labels", "pretrain", DROPPED)
"""Columns that a name holds even if their values are the usual ones."""
BUDGET = ("regime.labels", "regime.labelled")
"""Options of a regime that say how many rows keep their labels, or which share of them."""


def is_context(column: str) -> bool:
    """Whether nothing is compared across the values of a column: how many labels there are, and the seed."""
    return column.partition(".")[0] in ("regime", "seed")


def asked_for(overrides: Iterable[str]) -> list[str]:
    """The columns that the overrides of a cell set: ``loss@cotrain.loss=simclr`` sets ``cotrain.loss``."""
    found = []
    for override in overrides:
        group, _, package = override.partition("=")[0].lstrip("+~").partition("@")
        found.append((package or group).replace("/", "."))
    return found


def telling(rows: Sequence[Row], columns: Sequence[str], asked: Sequence[str] = ()) -> list[str]:
    """The columns that tell rows apart: all that the user varied, then as few others as possible.

    A column that some rows do not use (None) comes after those that all of them use, and an option after the axes. So
    a name says what was chosen, and not what follows from it: not the encoding, which logistic regression does without.
    Differences between datasets do not count: the paper leaves three datasets unscaled, which makes no axis of scaling.
    """
    varying = _varying(rows, columns)
    varied = {column for column in varying if column in asked and _n_used(rows, column) > 1}
    unused = {column for column in varying if any(row.get(column) is None for row in rows)}
    # The sort is stable: columns of one rank keep their order.
    ranked = sorted(varying, key=lambda column: (column not in varied, column in unused, column.count(".")))
    chosen: list[str] = []
    groups = 1
    for column in ranked:
        apart = len({_setting(row, [*chosen, column]) for row in rows})
        if column in varied or apart > groups:
            chosen.append(column)
            groups = apart
    return [column for column in columns if column in chosen]


def _n_used(rows: Sequence[Row], column: str) -> int:
    """How many values a column has, apart from not being used."""
    return len({repr(row[column]) for row in rows if row.get(column) is not None})


def _varying(rows: Sequence[Row], columns: Sequence[str]) -> list[str]:
    """The columns that have several values on one dataset."""
    by_dataset: dict[Any, list[Row]] = {}
    for row in rows:
        by_dataset.setdefault(row.get("dataset"), []).append(row)
    found = []
    for column in columns:
        counts = [len({_setting(row, [column]) for row in of_dataset}) for of_dataset in by_dataset.values()]
        if column != "dataset" and max(counts, default=0) > 1:
            found.append(column)
    return found


def _setting(row: Row, columns: Iterable[str]) -> tuple[str, ...]:
    """The values of these columns as texts, which 1 and True share with nothing else."""
    return tuple(repr(row.get(column)) for column in columns)


class Namer:
    """Names for settings of some columns, which are the same wherever they are asked for.

    Attributes:
        rows: all cells of the report, which decide what a name must say.
        columns: the columns that a name is made of.
        usual: values that a name of many columns leaves out.
        labels: by axis, the labels of its parts.
    """

    def __init__(self, rows: Sequence[Row], columns: Sequence[str], usual: Row, labels: Labels) -> None:
        self.rows, self.columns, self.usual, self.labels = rows, list(columns), usual, labels
        self._pretrained = {row.get("method") for row in rows if row.get("pretrain") not in (None, "none")}
        self._has_rivals = len({row.get("network") is None for row in rows}) > 1
        self._names = self._distinct({_setting(row, columns): row for row in rows})

    def __call__(self, row: Row) -> str:
        """The name of a row's setting; different settings never share one."""
        return self._names[_setting(row, self.columns)]

    def _distinct(self, settings: Mapping[tuple[str, ...], Row]) -> dict[tuple[str, ...], str]:
        names = {setting: self._words(row) for setting, row in settings.items()}
        counts = Counter(names.values())
        for setting, row in settings.items():
            if counts[names[setting]] > 1:
                names[setting] = _as_overrides(row, self.columns)
        return names

    def _words(self, row: Row) -> str:
        used = {column: row[column] for column in self.columns if row.get(column) is not None}
        if not used:
            return f"{columns_in_words(self.columns)} not used"
        told = self._told(used)
        if "method" in told and told["method"] not in self._pretrained:
            # Logistic regression is never pre-trained, so its name need not say so.
            told = {column: value for column, value in told.items() if (column, value) != ("pretrain", "none")}
        words = []
        for column, value in told.items():
            is_network = (column, value) == ("method", "control") and self._has_rivals
            words.append(THE_NETWORK if is_network else value_in_words(column, value, self.labels))
        return ", ".join(words)

    def _told(self, used: Row) -> Row:
        """The values that a name says."""
        told = {}
        for column, value in used.items():
            is_usual = value == self.usual.get(column) and column not in ALWAYS_TOLD
            # Control says nothing beside a pre-training or a network: it is what every method is compared with.
            is_plain = (column, value) == ("method", "control") and {"pretrain", "network"} & used.keys()
            # The number of labels says more than the regime that asks for one.
            is_doubled = column == "regime" and set(BUDGET) & used.keys()
            if not (is_plain or is_doubled or (is_usual and len(self.columns) > MOST_COLUMNS)):
                told[column] = value
        return told or used


def _as_overrides(row: Row, columns: Sequence[str]) -> str:
    """A setting as the command line has it."""
    used = [column for column in columns if row.get(column) is not None]
    return ", ".join(f"{column}={row[column]}" for column in used)


def column_in_words(column: str) -> str:
    """``pretrain.batch_size`` is "pre-training batch size"."""
    if column.startswith(OF_DATASET):
        option = column.removeprefix(OF_DATASET)
        return "columns left out" if option == "drop" else f"reading of {option}"
    section, *option_of = column.split(".")
    return " ".join([SECTIONS.get(section, section), *option_of]).replace("_", " ")


def columns_in_words(columns: Sequence[str]) -> str:
    """A heading for values of these columns."""
    return ", ".join(map(column_in_words, columns)) if len(columns) <= MOST_COLUMNS else "setting"


def value_in_words(column: str, value: Any, labels: Labels) -> str:
    """One value of a column, with the column's name unless the value says enough."""
    section, *option = column.split(".")
    text = text_of(value)
    if column in VALUES:
        return VALUES[column].get(text, text)
    if column in BUDGET:
        return labels_in_words(float(value))
    if is_of_reading(column):
        return _reading_in_words(option[0], text)
    if column == "dataset":
        return text
    if column in ("seed", "recipe"):
        return f"{column} {text}"
    if option:
        named = labels.get(column, {}).get(text, text)
        return f"{column_in_words(column if section in PHASES else option[-1])} {named}"
    if text == "none":
        return f"no {column_in_words(column)}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{column_in_words(column)} {text}"
    named = labels.get(column, {}).get(text, text.replace("_", " "))
    return named if column in TELLING else f"{named} {column_in_words(column)}"


def _reading_in_words(option: str, text: str) -> str:
    set_to, not_set = READING_IN_WORDS[option]
    if text == NULL:
        return not_set
    return set_to.format(_listed(text))


def _listed(text: str) -> str:
    """``[a,b,c]`` is "a, b and c"."""
    if not (text.startswith("[") and text.endswith("]")):
        return text
    items = re.findall(r"'[^']*'|\"[^\"]*\"|[^,]+", text[1:-1])
    *first, last = items or ["nothing"]
    return f"{', '.join(first)} and {last}" if first else last


def labels_in_words(labels: float) -> str:
    """A budget of labels: a number of rows, a share below one, infinity for all."""
    if labels == float("inf"):
        return ALL_LABELS
    return f"{labels:g} labels" if labels >= 1 else f"{100 * labels:g} % of the labels"


def text_of(value: Any) -> str:
    """A value as the command line and sweep files have it."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def shortened(names: Iterable[str], longest: int) -> dict[str, str]:
    """A text of at most so many letters for each name, where the figure has no room for more.

    Two names never share a text: names that begin alike keep their ends, and names that end alike too are numbered. The
    text of a name does not depend on the order of the names.
    """
    texts = {name: " ".join(name.split()) for name in names}
    cut = {name: _cut(text, longest, longest - 1) for name, text in texts.items()}
    for place in (2 * longest // 3, longest // 3, 0):
        # Less of the beginning is kept until all differ.
        for name in _alike(cut):
            cut[name] = _cut(texts[name], longest, place)
    number = 1
    for name in sorted(_alike(cut)):
        taken = set(cut.values())
        while cut[name] in taken:
            ending = f" ({number})"
            cut[name] = _cut(texts[name], longest - len(ending), longest - len(ending) - 1) + ending
            number += 1
    return cut


def _alike(texts: Mapping[str, str]) -> list[str]:
    """The names whose texts are not theirs alone."""
    counts = Counter(texts.values())
    return [name for name, text in texts.items() if counts[text] > 1]


def _cut(text: str, longest: int, place: int) -> str:
    """A text without the letters that follow the first ``place`` ones, as many as there are too many."""
    if len(text) <= longest:
        return text
    kept = longest - 1 - place
    return f"{text[:place]}…{text[len(text) - kept :]}" if kept else f"{text[:place]}…"
