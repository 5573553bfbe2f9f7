"""Numbers that are written as text: with thousands, decimal commas, percent signs and currencies."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MISSING = frozenset(
    [
        *("?", "-", "--", "---", ".", "..", "...", "*", "/"),
        *("na", "n/a", "n.a.", "n.a", "nan", "none", "null", "nil", "missing", "unknown"),
        *("#n/a", "#value!", "#div/0!", "#ref!"),
    ]
)
"""Texts, in lower case, that say among numbers or dates that there is none."""

CURRENCY = re.compile(
    r"[$€£¥₹₩₽₺₴฿]|\b(?:USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|CZK|BRL|RUB)\b", re.IGNORECASE
)
SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "−": "-", "’": "'"})
EXACT = 2**53
"""The largest whole number up to which all are told apart as float64."""


@dataclass(frozen=True)
class Notation:
    """How numbers are written: the decimal sign, and the one that may part groups of three digits."""

    decimal: str = "."
    group: str = ","

    def read(self, texts: Sequence[str]) -> dict[str, float]:
        """The distinct texts that are numbers, and which ones they are."""
        return self._read({text: _body(text) for text in texts})

    def _read(self, bodies: Mapping[str, tuple[str, float]]) -> dict[str, float]:
        point, group = re.escape(self.decimal), re.escape(self.group)
        whole = rf"(?:\d{{1,3}}(?:{group}\d{{3}})+|\d+)"
        number = re.compile(rf"[+-]?(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?", re.ASCII)
        return {
            text: float(body.replace(self.group, "").replace(self.decimal, ".")) / divisor
            for text, (body, divisor) in bodies.items()
            if number.fullmatch(body)
        }


@dataclass(frozen=True)
class Numbers:
    """What texts are as numbers: ``values`` by text, the texts that are ``others``, what is to be said of it, and the
    notation that they were read in."""

    values: Mapping[str, float]
    others: Sequence[str]
    notes: Sequence[str] = ()
    notation: Notation = Notation()


def as_numbers(texts: Sequence[str], decimal: str | None = None) -> Numbers:
    """Read distinct texts as numbers, all in the one notation in which most of them are.

    Percentages become shares of 1, amounts in brackets negative.

    Args:
        texts: without blanks around them.
        decimal: the decimal sign, ``.`` or ``,``; None takes the one that explains more of the texts, and the point
            where both explain all.
    """
    bodies = {text: _body(text) for text in texts}
    notations = [
        Notation(sign, group)
        for sign in ((decimal,) if decimal else (".", ","))
        for group in ("." if sign == "," else ",", " ", "'")
    ]
    readings = {notation: notation._read(bodies) for notation in notations}
    best, values = max(readings.items(), key=lambda reading: len(reading[1]))  # of equals the first, with the point
    notes = []
    grouped = best.decimal == "." and any("," in text for text in values)
    with_comma = [len(found) for notation, found in readings.items() if notation.decimal == ","]
    if grouped and len(values) in with_comma:
        notes.append("its commas are read as thousands, though they could be decimal; dataset.decimal says which")
    currencies = {found.upper() for text in values for found in CURRENCY.findall(text)}
    if len(currencies) > 1:
        notes.append(f"it holds amounts of several currencies ({', '.join(sorted(currencies))}), read as one")
    return Numbers(values, [text for text in texts if text not in values], notes, best)


def is_missing(text: str) -> bool:
    """Whether a text among numbers or dates says that there is none."""
    return text.lower() in MISSING


def are_codes(texts: Sequence[str]) -> str | None:
    """Why whole numbers are not to be read as quantities: what would be lost, or None."""
    whole = [text for text in texts if text.lstrip("+-").isascii() and text.lstrip("+-").isdigit()]
    if any(len(text) > 1 and text.startswith("0") for text in whole):
        return "whole numbers with leading zeros"
    if any(abs(int(text)) > EXACT for text in whole):
        return "whole numbers above 2^53, which float64 does not tell apart"
    return None


def _body(text: str) -> tuple[str, float]:
    """The digits and signs of a text without what stands around them, and what to divide them by."""
    divisor = 1.0
    body = CURRENCY.sub("", text.translate(SPACES)).strip()
    if body.startswith("(") and body.endswith(")"):
        body, divisor = body[1:-1].strip(), -1.0
    if body.endswith("%"):
        body, divisor = body[:-1].strip(), 100 * divisor
    if body.startswith(("- ", "+ ")):
        body = body[0] + body[2:].strip()
    return body, divisor
