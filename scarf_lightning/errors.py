"""The one exception whose message is written for the user."""

from collections.abc import Iterable
from difflib import get_close_matches


class UsageError(ValueError):
    """Bad input: one sentence that names the column, file or option and says what to do."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question that follows a sentence on a name that does not exist, with a space before it; or nothing."""
    near = get_close_matches(name, list(known), n=1, cutoff=0.7)
    return f" Did you mean {near[0]}?" if near else ""
