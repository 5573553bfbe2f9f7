"""What cells of one run are called, for people: what is asked of one and not of all."""

import re
from collections.abc import Sequence
from datetime import date

from .axes import OF_THE_RUN


def told_apart(asked: Sequence[Sequence[str]]) -> list[str]:
    """What each of some cells, asked for by these overrides, is called among them; ``defaults`` where nothing is asked
    of it alone."""
    own = [[each for each in overrides if re.split("[./]", _key(each))[0] not in OF_THE_RUN] for overrides in asked]
    shared = set.intersection(*map(set, own)) if len(own) > 1 else set()
    return [" ".join(each for each in overrides if each not in shared) or "defaults" for overrides in own]


def group_of(asked: Sequence[Sequence[str]], day: date) -> str:
    """What cells that no sweep file names are called together: what varies among them, and the day."""
    keys = dict.fromkeys(_key(part) for name in told_apart(asked) for part in name.split() if "=" in part)
    return f"{', '.join(keys) if len(asked) > 1 and keys else 'cells'} {day.isoformat()}"


def _key(override: str) -> str:
    return override.partition("=")[0]
