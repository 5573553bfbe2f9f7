"""Text that others wrote, made safe to show: names of datasets, columns, files and classes."""

import unicodedata
from typing import Any

KEPT = "\n\t"

HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories that a terminal acts on instead of showing: controls, directions of writing, lone surrogates."""

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for a formula if an entry begins with it (CWE-1236)."""


def escaped(text: str, kept: str = KEPT) -> str:
    """Text in which every character that would be acted on is written as Python writes it: ESC as ``\\x1b``.

    Args:
        text: anything.
        kept: characters that stay as they are: by default line feeds and tabs.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) if character not in kept else character for character in text)


def spreadsheet(value: Any) -> Any:
    """A value of a CSV file; a text that a spreadsheet would take for a formula is one no more."""
    if not isinstance(value, str):
        return value
    return ("'" if value.startswith(FORMULA) else "") + escaped(value)


def _shown(character: str) -> str:
    hidden = unicodedata.category(character) in HIDDEN
    return character.encode("unicode_escape").decode("ascii") if hidden else character
