"""How the swept values of a block are combined to cells: ``vary=all``, ``one`` or ``pairs``."""

import itertools
import math
from collections.abc import Iterator, Sequence

from ..errors import UsageError, enumeration

Choices = Sequence[Sequence[str]]
"""The overrides of a block: for each axis one for each of its values."""


def combined(choices: Choices, vary: str) -> Iterator[tuple[str, ...]]:
    """The overrides of each cell.

    - ``all``: every combination.
    - ``one``: the first values together are the base; each other value is put into the base by itself. Each dataset
      has a base of its own.
    - ``pairs``: the n-th values together. An axis of one value has it in every cell.

    >>> corruption, loss = ["corruption=mean", "corruption=joint"], ["loss=infonce", "loss=barlow_twins"]
    >>> list(combined([corruption, loss], "one"))[1:]
    [('corruption=joint', 'loss=infonce'), ('corruption=mean', 'loss=barlow_twins')]
    >>> list(combined([corruption, loss, ["seed=1"]], "pairs"))[1]
    ('corruption=joint', 'loss=barlow_twins', 'seed=1')

    Raises:
        UsageError: axes of pairs have different numbers of values.
    """
    if vary == "pairs":
        yield from _together(choices)
    elif vary == "all":
        yield from itertools.product(*choices)
    else:
        for base in bases(choices):
            yield base
            for place, values in enumerate(choices):
                for value in () if _is_dataset(values) else values[1:]:
                    yield (*base[:place], value, *base[place + 1 :])


def bases(choices: Choices) -> Iterator[tuple[str, ...]]:
    """The first values of all axes together, for each dataset."""
    return itertools.product(*(values if _is_dataset(values) else values[:1] for values in choices))


def number_of(choices: Choices, vary: str) -> int:
    """The number of cells that `combined` makes."""
    lengths = [len(values) for values in choices]
    if vary == "pairs":
        return max(lengths, default=1)
    if vary == "all":
        return math.prod(lengths)
    n_bases = math.prod(len(values) for values in choices if _is_dataset(values))
    return n_bases * (1 + sum(len(values) - 1 for values in choices if not _is_dataset(values)))


def _is_dataset(values: Sequence[str]) -> bool:
    """True for the axis of datasets, or of files."""
    return values[0].startswith(("dataset=", "dataset.path="))


def _together(choices: Choices) -> Iterator[tuple[str, ...]]:
    swept = [values for values in choices if len(values) > 1]
    if len({len(values) for values in swept}) > 1:
        numbers = [f"{values[0].partition('=')[0]} has {len(values)}" for values in swept]
        raise UsageError(f"vary=pairs takes the n-th values of all axes together, and {enumeration(numbers)} values.")
    for n in range(number_of(choices, "pairs")):
        # An axis of one value has it each time.
        yield tuple(values[n % len(values)] for values in choices)
