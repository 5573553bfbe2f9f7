"""Columns that would be numbers or dates, were they written in one way."""

import re
from collections.abc import Sequence

from .dates import as_dates
from .numbers import as_numbers, is_missing, with_units

MOST = 3
"""The most ways of writing that are looked for: in more, text is text."""

FEWEST = 2
"""Values in each way."""


def on_mixtures(texts: Sequence[str]) -> list[str]:
    """A note, without a full stop, on distinct texts that are numbers with several units, or dates in several
    formats."""
    known = [text for text in texts if not is_missing(text)]
    return _on_units(known) or _on_dates(known)


def _on_units(texts: Sequence[str]) -> list[str]:
    found = with_units(texts)
    units = sorted({unit for _, unit in found.values()})
    if len(found) < len(texts) or not 1 < len(units) <= MOST:
        return []
    if as_numbers([number.strip() for number, _ in found.values()]).others:
        return []
    shown = " and ".join(map(repr, units))
    return [f"its values are numbers with the units {shown}; write them in one unit, as numbers"]


def _on_dates(texts: Sequence[str]) -> list[str]:
    """Dates that are alike but for their digits and letters have one format."""
    shapes: dict[str, list[str]] = {}
    for text in texts:
        shape = re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", text))
        shapes.setdefault(shape, []).append(text)
        if len(shapes) > MOST:
            return []
    if len(shapes) < 2 or min(map(len, shapes.values())) < FEWEST:
        return []
    found = [as_dates(alike) for alike in shapes.values()]
    formats = {each[1] for each in found if each is not None and not each[0].isna().any()}
    if None in found or len(formats) < 2:
        return []
    shown = " and ".join(repr(alike[0]) for alike in shapes.values())
    return [f"its values are dates in several formats, such as {shown}; write them in one, such as 2024-12-31"]
