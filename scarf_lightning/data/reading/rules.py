"""Rules by which columns become features. A rule is chosen for a table and applied to later rows too."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...errors import UsageError
from ...importing import import_skrub, require
from ..columns import Coded, Floats, is_numeric, spell
from .dates import CATEGORICAL_PARTS, date_parts, iso_times, times_of
from .durations import seconds_in, seconds_of
from .frames import is_half_a_character
from .numbers import Notation, as_numbers, is_missing
from .truths import truth_of

N_HASHES = 16
"""How many numbers stand for a string of which there are too many for categories."""

N_TEXT_HASHES, TEXT_NGRAMS = 32, (3, 4)
"""How many numbers stand for a text, and the lengths of the pieces of its words that they count."""

NUMBERS = (int, float, np.number, np.bool_)

NO_VALUE = "(no value)"
"""The category of a gap in a column that has one value and gaps."""

Made = Mapping[str, Coded | Floats]
"""The features of a column by the endings of their names."""


@dataclass(frozen=True)
class Feature:
    """A feature of n rows: categories, or numbers ``(n,)`` with NaN where a value is missing."""

    name: str
    values: Coded | Floats

    @property
    def is_missing(self) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """True for each row without a value, ``(n,)``."""
        if isinstance(self.values, Coded):
            return self.values.codes < 0
        return np.isnan(self.values)


@dataclass(frozen=True)
class Rule:
    """Rule that turns a column into features. Values that the rule cannot read are missing in them.

    Attributes:
        kind: one of `KINDS`.
        from_text: whether the table's column was text, so that it is read as text from a file of later rows.
        decimal, group, unit: the notation of ``numbers`` in text.
        flags: of ``numbers``: all of the table's were 0 or 1, so that later rows may have truth values.
        format: of ``dates`` in text; None if the column held times, and text is read in any one format.
        parts: of ``dates``: the parts that differ between rows of the table, see `date_parts`.
    """

    kind: str
    from_text: bool = False
    decimal: str = "."
    group: str = ","
    unit: str = ""
    flags: bool = False
    format: str | None = None
    parts: tuple[str, ...] = ()

    @property
    def of(self) -> str:
        """The noun of the column's values, in the plural."""
        return KINDS[self.kind].of

    def features(self, column: "pd.Series[Any]") -> list[Feature]:
        """The features of a column, always equally many. A value that no such column can hold raises `UsageError`."""
        features = []
        for ending, values in KINDS[self.kind].make(self, column).items():
            features.append(Feature(f"{column.name}{ending}", values))
        return features

    def plain(self) -> dict[str, Any]:
        """The kind and its options, for JSON."""
        plain: dict[str, Any] = {"rule": self.kind, "from_text": self.from_text}
        for name in KINDS[self.kind].options:
            plain[name] = getattr(self, name)
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Rule":
        """The rule that gave this `plain`."""
        options: dict[str, Any] = {}
        # Older records lack options that were added later.
        for name in ("from_text", *KINDS[plain["rule"]].options):
            if name not in plain:
                continue
            value = plain[name]
            # JSON has no tuples.
            options[name] = tuple(value) if isinstance(value, list) else value
        return cls(plain["rule"], **options)


def _plain_numbers(rule: Rule, column: "pd.Series[Any]") -> Made:
    """Numbers, and nothing else."""
    if not is_numeric(column) or pd.api.types.is_complex_dtype(column.dtype):
        for value in column.dropna():
            if isinstance(value, (bool, np.bool_)) or not isinstance(value, NUMBERS):
                raise UsageError(f"Column {column.name!r} is numeric, but the rows hold {value!r} in it.")
    return {"": floats(column)}


def _plain_categories(rule: Rule, column: "pd.Series[Any]") -> Made:
    """Categories as they are spelled."""
    return {"": Coded.of(column)}


def _numbers(rule: Rule, column: "pd.Series[Any]") -> Made:
    """Numbers, or text in which they are written in one notation."""
    if is_numeric(column):
        return {"": floats(column)}
    coded, texts = _texts(column)
    notation = Notation(rule.decimal, rule.group, rule.unit)
    # Values that differ by blanks are one text.
    values = notation.read(list(dict.fromkeys(texts)))
    read = []
    for value, text in zip(coded.distinct, texts, strict=True):
        # Booleans, and numbers among text, are not parsed.
        number: float | None = None
        if isinstance(value, NUMBERS):
            number = float(value)
        elif text in values:
            number = values[text]
        elif rule.flags:
            number = truth_of(text)
        read.append(np.nan if number is None else float(number))
    return {"": coded.spread(read)}


def _dates(rule: Rule, column: "pd.Series[Any]") -> Made:
    """Dates and times as parts, see `date_parts`."""
    if pd.api.types.is_datetime64_any_dtype(column):
        made = date_parts(column)
    else:
        coded, texts = _texts(column)
        times = iso_times(texts, str(column.name)) if rule.format is None else times_of(texts, rule.format)
        made = {}
        for name, part in date_parts(times).items():
            made[name] = coded.spread(part)
    features: dict[str, Coded | Floats] = {}
    for chosen in rule.parts:
        values = made[chosen]
        features[f" ({chosen})"] = Coded.of(pd.Series(values)) if chosen in CATEGORICAL_PARTS else values
    return features


def _seconds(rule: Rule, column: "pd.Series[Any]") -> Made:
    """Lengths of time and times of day, as seconds."""
    if pd.api.types.is_timedelta64_dtype(column):
        return {"": seconds_in(column)}
    coded, texts = _texts(column)
    return {"": coded.spread(seconds_of(texts))}


def _hours(rule: Rule, column: "pd.Series[Any]") -> Made:
    """Times of day in hours, which models of version 0.2.0 learnt from."""
    coded, texts = _texts(column)
    return {"": coded.spread(seconds_of(texts) / 3600)}


def _categories(rule: Rule, column: "pd.Series[Any]") -> Made:
    """Categories: numbers as they are spelled, text without blanks around it."""
    coded = Coded.of(column)
    return {"": coded if is_numeric(column) else text_of(coded, column.name)[0]}


def _gaps(rule: Rule, column: "pd.Series[Any]") -> Made:
    """Categories, of which a gap is one: in a column with one value, it is the gaps that differ."""
    made = _categories(rule, column)[""]
    assert isinstance(made, Coded)
    if (made.codes >= 0).all():
        return {"": made}
    gap = len(made.distinct)
    codes = np.where(made.codes < 0, gap, made.codes)
    categories = [*made.distinct, NO_VALUE]
    return {"": Coded(codes, categories)}


def _booleans(rule: Rule, column: "pd.Series[Any]") -> Made:
    """True and false in their usual spellings."""
    coded, texts = _texts(column)
    spelled: list[str | None] = []
    for text in texts:
        truth = truth_of(text)
        if truth is not None:
            spelled.append(spell(truth))
        else:
            # What is none of both is no category of the table, and so missing.
            spelled.append(text.lower() or None)
    return {"": coded.mapped(spelled)}


def _hashes(rule: Rule, column: "pd.Series[Any]") -> Made:
    """Strings as min-hashes of their n-grams in [-1, 1]: strings that share letters share numbers, and a string has the
    same numbers in every table. Cerda and Varoquaux (2022), DOI 10.1109/TKDE.2020.2992529."""

    def encode(strings: list[str]) -> Floats:
        require("skrub", "A column of texts or of many categories")
        import_skrub()
        from skrub import MinHashEncoder

        column = pd.Series(strings, name="text")
        encoder = MinHashEncoder(n_components=N_HASHES)
        return np.asarray(encoder.fit_transform(column)) / 2**31

    return _encoded(column, N_HASHES, encode)


def _text_hashes(rule: Rule, column: "pd.Series[Any]") -> Made:
    """Texts as counts of the pieces of their words, each piece added to or taken from a number by its hash, and scaled
    to length one. Weinberger et al. (2009), DOI 10.1145/1553374.1553516."""

    def encode(texts: list[str]) -> Floats:
        from sklearn.feature_extraction.text import HashingVectorizer

        hasher = HashingVectorizer(n_features=N_TEXT_HASHES, analyzer="char_wb", ngram_range=TEXT_NGRAMS)
        return np.asarray(hasher.transform(texts).toarray())

    return _encoded(column, N_TEXT_HASHES, encode)


def _encoded(column: "pd.Series[Any]", width: int, encode: Callable[[list[str]], Floats]) -> Made:
    """The features of text, whose distinct values `encode` turns into numbers ``(n_distinct, width)``."""
    text, _ = text_of(Coded.of(column), column.name)
    # The libraries refuse to encode nothing.
    numbers = np.empty((0, width))
    if text.distinct:
        numbers = encode(text.distinct)
    features: dict[str, Floats] = {}
    for position, values in enumerate(numbers.T, start=1):
        features[f" ({position})"] = text.spread(values)
    return features


def _texts(column: "pd.Series[Any]") -> tuple[Coded, list[str]]:
    """A column, and the text of each of its distinct values."""
    coded = Coded.of(column)
    return coded, stripped(coded.distinct, column.name)


@dataclass(frozen=True)
class Kind:
    """A kind of column.

    Attributes:
        of: the noun of its values, in the plural.
        make: the function that makes its features.
        options: those of `Rule` that it uses.
    """

    of: str
    make: Callable[[Rule, "pd.Series[Any]"], Made]
    options: tuple[str, ...] = ()


KINDS = {
    "plain numbers": Kind("numbers", _plain_numbers),
    "plain categories": Kind("categories", _plain_categories),
    "numbers": Kind("numbers", _numbers, ("decimal", "group", "unit", "flags")),
    "dates": Kind("dates", _dates, ("format", "parts")),
    "times of day": Kind("times", _hours),
    "durations": Kind("durations", _seconds),
    "gaps": Kind("categories", _gaps),
    "categories": Kind("categories", _categories),
    "Booleans": Kind("truth values", _booleans),
    "strings": Kind("strings", _hashes),
    "text": Kind("texts", _text_hashes),
}


def unread(column: "pd.Series[Any]", features: list[Feature]) -> list[str]:
    """The distinct values of a column that its rule could not read, besides texts that stand for a missing value."""
    if not features:
        return []
    rows = column.notna().to_numpy() & features[0].is_missing
    if not rows.any():
        return []
    texts = dict.fromkeys(spell(value).strip() for value in column[rows])
    # An empty text, ``?`` and the like mean that there is no value.
    return [text for text in texts if text and not is_missing(text)]


def floats(column: "pd.Series[Any]") -> Floats:
    """A column as float64 ``(n,)``, NaN where a value is missing."""
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def stripped(values: list[Any], name: Any) -> list[str]:
    """Each value as text without blanks around it.

    Raises:
        UsageError: a text holds a NUL character, at which other programs would cut it, or half a character, which no
            file can hold.
    """
    texts = list(map(spell, values))
    for text in texts:
        if "\x00" in text:
            raise UsageError(f"column {name!r} holds a NUL character, in {text!r}; remove it from the file.")
        if is_half_a_character(text):
            raise UsageError(f"column {name!r} holds half a character, in {text!r}; remove it, or drop the column.")
    return [text.strip() for text in texts]


def text_of(coded: Coded, name: Any) -> tuple[Coded, list[str]]:
    """A column as text without blanks around its values, missing if empty; and a note if that made values equal."""
    texts = stripped(coded.distinct, name)
    text = coded.mapped([text or None for text in texts])
    spellings = set(map(spell, coded.distinct))
    n_merged = len(spellings) - len(set(texts))
    if not n_merged:
        return text, []
    return text, [f"blanks around its values are cut off; {n_merged} of them differed from another by those alone"]


def floats_of(column: "pd.Series[Any]", decimal: str | None = None) -> tuple[Floats, list[str]]:
    """A column of numbers, or of text with numbers, as float64 ``(n,)``, and the texts that are no numbers. These and
    missing values are NaN; ``decimal`` is as of `as_numbers`."""
    if is_numeric(column) or pd.api.types.is_bool_dtype(column):
        return floats(column), []
    text, _ = text_of(Coded.of(column), column.name)
    numbers = as_numbers(text.distinct, decimal)
    # A number for each distinct text, and from these one for each row.
    known = [numbers.values.get(each, np.nan) for each in text.distinct]
    return text.spread(known), list(numbers.others)
