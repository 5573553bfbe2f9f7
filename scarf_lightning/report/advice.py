"""What would settle an open comparison, as a command."""

from collections.abc import Callable, Sequence
from pathlib import Path

from ..screen import command_line
from .comparisons import Comparison
from .loading import CellResults

Commands = Callable[[Comparison, str], str]
"""The command that trains a comparison's cells with this in place of what was asked: ``trials=30``."""
NOT_OF_A_CELL = ("sweeps", "plan", "force", "paths.results")


def by_sweep(overrides: Sequence[str]) -> Commands:
    """The sweep again, with more trials."""
    return lambda comparison, change: _command([*_without(overrides, change), change])


def by_cells(results: CellResults, folder: Path) -> Commands:
    """The comparison's own cells, as they were asked for; in one command where they differ in one column alone."""

    overrides = results.cells["overrides"].to_dict()

    def command(comparison: Comparison, change: str) -> str:
        ends = [change] + ([] if folder == Path("results") else [f"paths.results={folder}"])
        pair = comparison.pairs[0]
        kept = [[each for each in overrides[cell] if _key(each) not in NOT_OF_A_CELL] for cell in pair]
        asked = [_without(each, change) for each in kept]
        first, second = (set(each) for each in asked)
        keys = {_key(override) for override in first ^ second}
        if len(keys) == 1 and (key := keys.pop()) in results.axes:
            values = ",".join(str(value) for value in results.cells.loc[list(pair), key])
            return _command([*(each for each in asked[0] if _key(each) != key), f"{key}={values}", *ends])
        return " && ".join(dict.fromkeys(_command([*each, *ends]) for each in asked))

    return command


def _without(overrides: Sequence[str], change: str) -> list[str]:
    """The overrides but those of the same axis as the change, and its options."""
    return [each for each in overrides if _key(each).partition(".")[0] != _key(change)]


def _key(override: str) -> str:
    return override.partition("=")[0]


def _command(overrides: Sequence[str]) -> str:
    return command_line("train.py", overrides)
