"""Names of what is compared, made from the options that the user varied.

Every sentence, table, figure and file of a report takes its names from here, so one competitor has one name. The module
works on plain rows, without pandas, so that the terminal can use it too.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import enumeration
from ..intervals import FEWEST_TABLES
from ..results.identity import NULL, is_of_reading

Row = Mapping[str, Any]
Labels = Mapping[str, Mapping[str, str]]
"""By axis, the labels of its parts; a part without a label is called by its name with spaces."""

NO_PRETRAINING = "no pre-training"
CONTROL = ("method", "control")
THE_NETWORK = "the network"
"""Control beside methods that train no network of ours."""
ALL_LABELS = "all labels"
ON = "on "
"""How a context begins that names a dataset."""

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
MANY_SETTINGS, USUALLY = 8, 0.6
"""The names of so many settings leave out a value that a larger share of them has in common."""
PHASES = {"pretrain": "pre-training", "finetune": "fine-tuning"}
"""Sections whose options are named with their section: both phases have a learning rate."""
SECTIONS = {**PHASES, "regime": "labels", "dataset": "data"}
CLEAR_ALONE = ("regime", "pretrain", "method")
"""Axes whose labels need no name of the axis beside them."""
ALWAYS_NAMED = ("dataset", "regime", "regime.labels", "pretrain", DROPPED)
"""Columns that a name holds even if their values are the usual ones."""
BUDGET = ("regime.labels", "regime.labelled")
"""Options of a regime that say how many rows keep their labels, or which share of them."""


def is_context(column: str) -> bool:
    """True for a column across whose values nothing is compared: how many labels there are, and the seed."""
    section, _, _ = column.partition(".")
    return section in ("regime", "seed")


def asked_for(overrides: Iterable[str]) -> list[str]:
    """The columns that the overrides of a cell set: ``loss@cotrain.loss=simclr`` sets ``cotrain.loss``."""
    columns = []
    for override in overrides:
        key, _, _ = override.partition("=")
        # Hydra's signs for what is added or taken away are no part of a name.
        group, _, package = key.lstrip("+~").partition("@")
        # A column has the name of its place in the configuration, and not of the folder with its choices.
        place = package or group
        columns.append(place.replace("/", "."))
    return columns


def distinguishing_columns(rows: Sequence[Row], columns: Sequence[str], asked: Sequence[str] = ()) -> list[str]:
    """The columns that distinguish rows: all that the user varied, then as few others as possible.

    A column that some rows do not use (None) comes after those that all of them use, and an option after the axes. So
    a name says what was chosen, and not what follows from it: not the encoding, which logistic regression does without.
    Differences between datasets do not count: the paper leaves three datasets unscaled, which makes no axis of scaling.
    """
    varying = _varying(rows, columns)
    varied = set[str]()
    unused = set[str]()
    for column in varying:
        values = _values(rows, [column])
        if NOT_USED in values:
            unused.add(column)
        # An option that one cell sets and others do not use varies no more than what makes them use it.
        if column in asked and len(values - {NOT_USED}) > 1:
            varied.add(column)

    def rank(column: str) -> tuple[bool, bool, int]:
        # An axis has no dot in its name, and each level of its options has one more.
        return column not in varied, column in unused, column.count(".")

    chosen: list[str] = []
    groups = 1
    # The sort is stable: columns of one rank keep their order.
    for column in sorted(varying, key=rank):
        n_apart = len(_values(rows, [*chosen, column]))
        # A column that splits no group further follows from those that were chosen before.
        if column in varied or n_apart > groups:
            chosen.append(column)
            groups = n_apart
    return [column for column in columns if column in chosen]


def _varying(rows: Sequence[Row], columns: Sequence[str]) -> list[str]:
    """The columns that have several values on one dataset."""
    by_dataset: dict[Any, list[Row]] = {}
    for row in rows:
        by_dataset.setdefault(row.get("dataset"), []).append(row)
    varying = []
    for column in columns:
        if column == "dataset":
            continue
        for dataset_rows in by_dataset.values():
            if _differ([row.get(column) for row in dataset_rows]):
                varying.append(column)
                break
    return varying


def _differ(values: Sequence[Any]) -> bool:
    """True if the texts of these values differ."""
    # Most cells of a sweep share the very objects, and a text takes ten times as long as the look.
    first = values[0]
    text = repr(first)
    return any(value is not first and repr(value) != text for value in values)


Setting = tuple[str, ...]
"""The values of some columns, as texts: 1 and True are two values, though Python says that they are equal."""
NOT_USED: Setting = (repr(None),)
"""The setting of one column that a cell does not use."""


def _setting(row: Row, columns: Iterable[str]) -> Setting:
    return tuple(repr(row.get(column)) for column in columns)


def _values(rows: Iterable[Row], columns: Sequence[str]) -> set[Setting]:
    """All settings of these columns."""
    return {_setting(row, columns) for row in rows}


class Namer:
    """Names for settings of some columns, which are the same wherever they are asked for.

    Attributes:
        rows: all cells of the report, which decide what a name must say.
        columns: the columns that a name is made of.
        usual: values that a name of many columns leaves out, unless most rows have another one.
        labels: by axis, the labels of its parts.
    """

    def __init__(self, rows: Sequence[Row], columns: Sequence[str], usual: Row, labels: Labels) -> None:
        self.rows = rows
        self.columns = list(columns)
        self.usual = {**usual, **_commonest(rows, self.columns)}
        self.labels = labels
        self._pretrained = set[Any]()
        for row in rows:
            if row.get("pretrain") not in (None, "none"):
                self._pretrained.add(row.get("method"))
        networks = [row.get("network") for row in rows]
        # Control has another name beside methods that train no network of ours.
        self._has_rivals = None in networks and any(networks)
        self._names = self._distinct_names()

    def __call__(self, row: Row) -> str:
        """The name of a row's setting; different settings never share one."""
        return self._names[_setting(row, self.columns)]

    def _distinct_names(self) -> dict[Setting, str]:
        """The name of each setting."""
        settings = {}
        for row in self.rows:
            settings[_setting(row, self.columns)] = row
        names = {}
        for setting, row in settings.items():
            names[setting] = self._setting_name(row)
        counts = Counter(names.values())
        for setting, row in settings.items():
            # Words that two settings share say too little of either.
            if counts[names[setting]] > 1:
                names[setting] = _as_overrides(row, self.columns)
        return names

    def _setting_name(self, row: Row) -> str:
        used = _used(row, self.columns)
        # Logistic regression beside networks of two depths, for instance, has no depth.
        if not used:
            return f"{columns_in_words(self.columns)} not used"
        words = []
        for column, value in self._named_values(used).items():
            if (column, value) == CONTROL and self._has_rivals:
                words.append(THE_NETWORK)
            else:
                words.append(value_in_words(column, value, self.labels))
        return ", ".join(words)

    def _named_values(self, used: Row) -> Row:
        """The values that a name says; all of them if it would say none."""
        values = {}
        for column, value in used.items():
            if not self._goes_without_saying(column, value, used):
                values[column] = value
        return values or used

    def _goes_without_saying(self, column: str, value: Any, used: Row) -> bool:
        """True for a value that a name leaves out beside the other ones of its setting."""
        # Control is what every method is compared with, so a pre-training or a network says enough.
        if (column, value) == CONTROL:
            return "pretrain" in used or "network" in used
        # Logistic regression is never pre-trained.
        if (column, value) == ("pretrain", "none"):
            method = used.get("method", "control")
            return method != "control" and method not in self._pretrained
        # A number of labels says more than the regime that asks for one.
        if column == "regime":
            return any(budget in used for budget in BUDGET)
        if column in ALWAYS_NAMED or len(self.columns) <= MOST_COLUMNS:
            return False
        return bool(value == self.usual.get(column))


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


def competition(
    rows: Mapping[int, Row], compared: Sequence[str], contexts: Sequence[str], usual: Row, labels: Labels
) -> Competition:
    """The cells as competitors. A number of labels is no competitor: two cells meet at the same one.

    Args:
        rows: of the cells, by label.
        compared, contexts: the columns in which they differ, those that make competitors and those that do not.
        usual, labels: as in `Namer`.
    """

    def named(columns: Sequence[str]) -> dict[int, str]:
        namer = Namer(list(rows.values()), columns, usual, labels)
        return {label: namer(row) for label, row in rows.items()}

    # Numbers of labels, seeds or regimes that are all that the user varied are compared with each other.
    columns, contexts = (compared, contexts) if compared else (contexts, [])
    budgets = _label_budgets(rows, contexts) if contexts else None
    names = named(columns or ["pretrain", "method"])
    # By the budget: two regimes may ask for one number of labels in two ways.
    places = {label: labels_in_words(budget) for label, budget in (budgets or {}).items()}
    if budgets is None:
        places = named(contexts) if contexts else dict.fromkeys(names, "")
    datasets = {row["dataset"] for row in rows.values()}
    # The sign test over so few tables finds nothing, so each has an answer of its own.
    if 1 < len(datasets) < FEWEST_TABLES:
        for label, row in rows.items():
            places[label] = f"{ON}{row['dataset']}" + (f" with {places[label]}" if places[label] else "")
    return Competition(compared, names, places, budgets)


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


def _commonest(rows: Sequence[Row], columns: Sequence[str]) -> Row:
    """The value of each column that most of many settings have in common."""
    # By setting, because a sweep over many datasets has many cells of each.
    settings = {_setting(row, columns): row for row in rows}
    if len(settings) < MANY_SETTINGS:
        return {}
    commonest = {}
    for column in columns:
        values = []
        for row in settings.values():
            if row.get(column) is not None:
                values.append(row[column])
        # As texts: 1 and True are one value to a counter.
        counts = Counter(map(text_of, values))
        for value in values:
            if counts[text_of(value)] > USUALLY * len(settings):
                commonest[column] = value
    return commonest


def _used(row: Row, columns: Sequence[str]) -> Row:
    """The values of the columns that a row uses."""
    return {column: row[column] for column in columns if row.get(column) is not None}


def _as_overrides(row: Row, columns: Sequence[str]) -> str:
    """A setting as the command line has it."""
    used = _used(row, columns)
    return ", ".join(f"{column}={value}" for column, value in used.items())


def column_in_words(column: str) -> str:
    """``pretrain.batch_size`` is "pre-training batch size"."""
    # Options of a dataset are about how its table is read.
    if column.startswith(OF_DATASET):
        option = column.removeprefix(OF_DATASET)
        return "columns left out" if option == "drop" else f"reading of {option}"
    section, *rest = column.split(".")
    words = [SECTIONS.get(section, section), *rest]
    return " ".join(words).replace("_", " ")


def columns_in_words(columns: Sequence[str]) -> str:
    """A heading for values of these columns."""
    if len(columns) > MOST_COLUMNS:
        return "setting"
    return ", ".join(map(column_in_words, columns))


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
    # Parts have labels; other values, such as numbers and plugins' names, may have none.
    value_labels = labels.get(column, {})
    if option:
        # Both phases have a learning rate; the rate of a corruption needs no more than its own name.
        heading = column_in_words(column if section in PHASES else option[-1])
        return f"{heading} {value_labels.get(text, text)}"
    if text == "none":
        return f"no {column_in_words(column)}"
    # A bare number does not show what it is a number of.
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{column_in_words(column)} {text}"
    name = value_labels.get(text, text.replace("_", " "))
    if column in CLEAR_ALONE:
        return name
    return f"{name} {column_in_words(column)}"


def _reading_in_words(option: str, text: str) -> str:
    set_to, not_set = READING_IN_WORDS[option]
    if text == NULL:
        return not_set
    return set_to.format(_listed(text))


def _listed(text: str) -> str:
    """``[a,b,c]`` is "a, b and c"."""
    if not (text.startswith("[") and text.endswith("]")):
        return text
    # A quoted name may hold a comma.
    items = re.findall(r"'[^']*'|\"[^\"]*\"|[^,]+", text[1:-1])
    return enumeration(items) if items else ""


def labels_in_words(labels: float) -> str:
    """A budget of labels: a number of rows, a share below one, infinity for all."""
    if labels == float("inf"):
        return ALL_LABELS
    if labels < 1:
        return f"{100 * labels:g} % of the labels"
    return f"{labels:g} labels"


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
    # Sorted, so that numbers do not depend on the order of the names.
    for name in sorted(_alike(cut)):
        taken = set(cut.values())
        while cut[name] in taken:
            ending = f" ({number})"
            room = longest - len(ending)
            cut[name] = _cut(texts[name], room, room - 1) + ending
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
    # The dots take the room of one letter.
    n_last = longest - 1 - place
    beginning = text[:place]
    end = text[len(text) - n_last :]
    return f"{beginning}…{end}"
