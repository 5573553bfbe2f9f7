"""The exceptions whose messages are written for the user, and the exit status of a command that ends by one."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar


class UsageError(ValueError):
    """Bad input: one sentence that names the column, file or option and says what to do."""

    status: ClassVar[int] = 2


class UnfinishedError(RuntimeError):
    """Cells of a sweep did not finish: what each of them met, a line each. The others did, and are kept."""

    status: ClassVar[int] = 1


SYNONYMS = {"gpu": "cuda", "lightgbm": "xgboost"}
"""Names that other tools use, by which ours may be meant."""


def on_system_error(error: OSError) -> str:
    """A sentence on what the operating system refused, such as a full disk or a folder without rights."""
    what = error.strerror or str(error) or type(error).__name__
    where = [str(name) for name in (error.filename, error.filename2) if name is not None]
    return f"{' and '.join(where)}: {what}." if where else f"{what}."


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question that follows a sentence on a name that does not exist, with a space before it; or nothing."""
    options = list(known)
    other = SYNONYMS.get(name.lower())
    near = [other] if other in options else get_close_matches(name, options, n=1, cutoff=0.7)
    return f" Did you mean {near[0]}?" if near else ""
