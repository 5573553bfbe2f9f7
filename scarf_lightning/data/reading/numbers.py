"""Numbers that are written as text: with thousands, decimal commas, percent signs and currencies."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..columns import Advice, Note

MISSING = frozenset(
    [
        *("?", "-", "--", "---", ".", "..", "...", "*", "/"),
        *("na", "n/a", "n.a.", "n.a", "nan", "none", "null", "nil", "missing", "unknown"),
        *("#n/a", "#value!", "#div/0!", "#ref!"),
    ]
)
"""Texts, in lower case, that stand for a missing value in a column of numbers or dates."""

CURRENCY = re.compile(
    r"[$€£¥₹₩₽₺₴฿]|\b(?:USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|CZK|BRL|RUB)\b", re.IGNORECASE
)
SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "−": "-", "’": "'"})
WITH_A_UNIT = re.compile(r"(.*\d[.,]?)\s*([^\W\d_]{1,12}[²³]?(?:/[^\W\d_]{1,6}[²³]?)?|°\s?[CFK]?)")
"""A number and a word behind it, such as ``12 kg``."""
LONGEST = 1000
"""Characters. Longer texts are no numbers."""
EXACT = 2**53
"""float64 represents every whole number up to this one."""
EXACT_DIGITS = len(str(EXACT))


@dataclass(frozen=True)
class Notation:
    """The decimal sign, the sign that may separate groups of digits, and the unit that may follow."""

    decimal: str = "."
    group: str = ","
    unit: str = ""

    def read(self, texts: Sequence[str]) -> dict[str, float]:
        """The numbers among distinct texts."""
        return self._read(_bodies(texts, self.unit))

    def _read(self, bodies: Mapping[str, "Body"]) -> dict[str, float]:
        """The numbers among texts whose bodies are known."""
        point, group = re.escape(self.decimal), re.escape(self.group)
        thousands = rf"\d{{1,3}}(?:{group}\d{{3}})+"
        # Thousands, lakhs and crores: 1,00,000.
        lakhs = rf"\d{{1,2}}(?:{group}\d{{2}})+{group}\d{{3}}"
        whole = rf"(?:{thousands}|{lakhs}|\d+)"
        number = re.compile(rf"[+-]?(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?", re.ASCII)
        numbers = {}
        for text, (body, divisor) in bodies.items():
            if len(body) > LONGEST or not number.fullmatch(body):
                continue
            written = body.replace(self.group, "").replace(self.decimal, ".")
            numbers[text] = float(written) / divisor
        return numbers


@dataclass(frozen=True)
class Numbers:
    """Distinct texts, read as numbers.

    Attributes:
        values: the number of each text that is one.
        others: the other texts.
        notes: on doubts, without a full stop.
        notation: the one in which the numbers are written.
    """

    values: Mapping[str, float]
    others: Sequence[str]
    notes: Sequence[Note] = ()
    notation: Notation = Notation()


def as_numbers(texts: Sequence[str], decimal: str | None = None) -> Numbers:
    """Read distinct texts, without blanks around them, as numbers, all in the one notation that fits most of them.

    Percentages become shares of 1. Amounts in brackets become negative. A unit that most texts end with is cut off.
    ``decimal`` is the decimal sign, ``.`` or ``,``; None takes the one that fits more of the texts, and the point in a
    tie.
    """
    unit = _unit(texts)
    bodies = _bodies(texts, unit)
    by_notation = {}
    for sign in (decimal,) if decimal else (".", ","):
        thousands = "." if sign == "," else ","
        for group in (thousands, " ", "'"):
            notation = Notation(sign, group, unit)
            by_notation[notation] = notation._read(bodies)
    # Of notations that fit equally many texts the first counts, which has the point.
    best, values = max(by_notation.items(), key=lambda each: len(each[1]))
    notes: list[Note] = []
    if best.decimal == "." and _could_be_decimal(values, by_notation):
        doubt = "its commas are read as separators of thousands, though they could be decimal"
        notes.append(Advice(doubt, "dataset.decimal", ",", "reads them as decimal"))
    if unit and values:
        notes.append(f"its numbers have the unit {unit!r}, which is cut off")
    currencies: set[str] = set()
    for text in values:
        currencies.update(sign.upper() for sign in CURRENCY.findall(text))
    if len(currencies) > 1:
        shown = ", ".join(sorted(currencies))
        notes.append(f"it holds amounts in several currencies ({shown}), read as one")
    others = [text for text in texts if text not in values]
    return Numbers(values, others, notes, best)


def _could_be_decimal(values: Mapping[str, float], by_notation: Mapping[Notation, Mapping[str, float]]) -> bool:
    """Tell whether numbers with commas would be as many if the commas were decimal."""
    if not any("," in text for text in values):
        return False
    n_read = []
    for notation, numbers in by_notation.items():
        if notation.decimal == ",":
            n_read.append(len(numbers))
    return len(values) in n_read


def with_units(texts: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The number and the unit behind it, such as ``kg``, of each distinct text that has both."""
    parts = {}
    for text in texts:
        if len(text) > LONGEST:
            continue
        match = WITH_A_UNIT.fullmatch(text)
        # A currency is no unit: it has a notation of its own.
        if match and not CURRENCY.fullmatch(match[2]):
            parts[text] = (match[1], match[2])
    return parts


def _unit(texts: Sequence[str]) -> str:
    """The unit that most of the distinct texts end with; empty if there is none."""
    units = Counter(unit for _, unit in with_units(texts).values())
    for unit, count in units.most_common(1):
        if count > len(texts) / 2:
            return unit
    return ""


def is_missing(text: str) -> bool:
    """Tell whether a text among numbers or dates stands for a missing value."""
    return text.lower() in MISSING


def are_codes(texts: Sequence[str]) -> str | None:
    """The reason why whole numbers are codes and no quantities; None if they may be quantities."""
    are_large = False
    for text in texts:
        digits = text.lstrip("+-")
        if not (digits.isascii() and digits.isdigit()):
            continue
        if len(digits) > 1 and digits.startswith("0"):
            return "whole numbers with leading zeros"
        # Python refuses to make integers of thousands of digits.
        are_large |= len(digits) > EXACT_DIGITS or int(digits) > EXACT
    if are_large:
        return "whole numbers above 2^53, which float64 rounds"
    return None


Body = tuple[str, float]
"""The digits and signs of a text without currency, percent sign and brackets, and the number to divide them by."""


def _bodies(texts: Sequence[str], unit: str) -> dict[str, Body]:
    """The body of each text without the unit."""
    bodies = {}
    for text in texts:
        bodies[text] = _body(text.removesuffix(unit))
    return bodies


def _body(text: str) -> Body:
    """The body of a text."""
    divisor = 1.0
    body = CURRENCY.sub("", text.translate(SPACES)).strip()
    # Accountants write negative amounts in brackets.
    if body.startswith("(") and body.endswith(")"):
        body, divisor = body[1:-1].strip(), -1.0
    if body.endswith("%"):
        body, divisor = body[:-1].strip(), 100 * divisor
    # A blank may part the sign from its digits.
    if body.startswith(("- ", "+ ")):
        body = body[0] + body[2:].strip()
    return body, divisor
