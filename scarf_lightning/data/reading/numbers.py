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
        return self._read({text: _body(text.removesuffix(self.unit)) for text in texts})

    def _read(self, bodies: Mapping[str, tuple[str, float]]) -> dict[str, float]:
        point, group = re.escape(self.decimal), re.escape(self.group)
        whole = rf"(?:\d{{1,3}}(?:{group}\d{{3}})+|\d{{1,2}}(?:{group}\d{{2}})+{group}\d{{3}}|\d+)"  # also 1,00,000
        number = re.compile(rf"[+-]?(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?", re.ASCII)
        return {
            text: float(body.replace(self.group, "").replace(self.decimal, ".")) / divisor
            for text, (body, divisor) in bodies.items()
            if len(body) <= LONGEST and number.fullmatch(body)
        }


@dataclass(frozen=True)
class Numbers:
    """The number of each text that is one, the other texts, notes on doubts without a full stop, and the notation."""

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
    bodies = {text: _body(text.removesuffix(unit)) for text in texts}
    notations = [
        Notation(sign, group, unit)
        for sign in ((decimal,) if decimal else (".", ","))
        for group in ("." if sign == "," else ",", " ", "'")
    ]
    found = {notation: notation._read(bodies) for notation in notations}
    best, values = max(found.items(), key=lambda each: len(each[1]))  # the first of equals, with the point
    notes: list[Note] = []
    with_comma = [len(read) for notation, read in found.items() if notation.decimal == ","]
    if best.decimal == "." and len(values) in with_comma and any("," in text for text in values):
        found_twice = "its commas are read as separators of thousands, though they could be decimal"
        notes.append(Advice(found_twice, "dataset.decimal", ",", "reads them as decimal"))
    if unit and values:
        notes.append(f"its numbers have the unit {unit!r}, which is cut off")
    currencies = {sign.upper() for text in values for sign in CURRENCY.findall(text)}
    if len(currencies) > 1:
        notes.append(f"it holds amounts in several currencies ({', '.join(sorted(currencies))}), read as one")
    return Numbers(values, [text for text in texts if text not in values], notes, best)


def with_units(texts: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The number and the unit behind it, such as ``kg``, of each distinct text that has both."""
    found = {text: WITH_A_UNIT.fullmatch(text) for text in texts if len(text) <= LONGEST}
    return {text: (match[1], match[2]) for text, match in found.items() if match and not CURRENCY.fullmatch(match[2])}


def _unit(texts: Sequence[str]) -> str:
    """The unit that most of the distinct texts end with; empty if there is none."""
    units = Counter(unit for _, unit in with_units(texts).values())
    ((unit, count),) = units.most_common(1) or [("", 0)]
    return unit if count > len(texts) / 2 else ""


def is_missing(text: str) -> bool:
    """Whether a text among numbers or dates stands for a missing value."""
    return text.lower() in MISSING


def are_codes(texts: Sequence[str]) -> str | None:
    """Why reading whole numbers as quantities would lose something; None if it would not."""
    digits = [text.lstrip("+-") for text in texts]
    whole = [text for text in digits if text.isascii() and text.isdigit()]
    if any(len(text) > 1 and text.startswith("0") for text in whole):
        return "whole numbers with leading zeros"
    if any(len(text) > EXACT_DIGITS or int(text) > EXACT for text in whole):
        return "whole numbers above 2^53, which float64 does not tell apart"
    return None


def _body(text: str) -> tuple[str, float]:
    """The digits and signs of a text without currency, percent sign and brackets, and the number to divide them by."""
    divisor = 1.0
    body = CURRENCY.sub("", text.translate(SPACES)).strip()
    if body.startswith("(") and body.endswith(")"):
        body, divisor = body[1:-1].strip(), -1.0
    if body.endswith("%"):
        body, divisor = body[:-1].strip(), 100 * divisor
    if body.startswith(("- ", "+ ")):
        body = body[0] + body[2:].strip()
    return body, divisor
