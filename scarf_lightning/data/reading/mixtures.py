"""Columns that would be numbers or dates, were they written in one way."""

import re
from collections.abc import Sequence

from .dates import as_dates
from .numbers import as_numbers, is_missing, with_units

MOST = 3
"""The most ways of writing that are looked for: in more, text is text."""

FEWEST = 2
"""Values that are written in each way."""


def on_mixtures(texts: Sequence[str]) -> list[str]:
    """A note, without a full stop, on distinct texts that are numbers with several units, or dates in several
    formats."""
    known = [text for text in texts if not is_missing(text)]
    return _on_units(known) or _on_dates(known)


def _on_units(texts: Sequence[str]) -> list[str]:
    found = with_units(texts)
    units = {unit for _, unit in found.values()}
    # One unit is read, and a text without a unit may be anything.
    if len(found) < len(texts) or not 1 < len(units) <= MOST:
        return []
    numbers = []
    for number, _ in found.values():
        numbers.append(number.strip())
    if as_numbers(numbers).others:
        return []
    shown = " and ".join(map(repr, sorted(units)))
    return [f"its values are numbers with the units {shown}; write them in one unit, as numbers"]


def _on_dates(texts: Sequence[str]) -> list[str]:
    # Dates of one format are alike but for their digits and letters.
    alike: dict[str, list[str]] = {}
    for text in texts:
        shape = re.sub(r"\d+", "0", text)
        shape = re.sub(r"[^\W\d_]+", "a", shape)
        alike.setdefault(shape, []).append(text)
        if len(alike) > MOST:
            return []
    formats = set()
    for dates in alike.values():
        found = as_dates(dates)
        if found is None or len(dates) < FEWEST:
            return []
        times, format, _ = found
        if times.isna().any():
            return []
        formats.add(format)
    if len(formats) < 2:
        return []
    examples = [dates[0] for dates in alike.values()]
    shown = " and ".join(map(repr, examples))
    return [f"its values are dates in several formats, such as {shown}; write them in one, such as 2024-12-31"]
