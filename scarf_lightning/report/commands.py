"""The command that would settle a comparison."""

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from .comparisons import Comparison
from .reading import CellResults

Commands = Callable[[Comparison, int], str]
"""The command that trains a comparison's cells to so many trials."""
NOT_OF_A_CELL = ("trials", "sweeps", "plan", "force", "paths.results")


def by_sweep(overrides: Sequence[str]) -> Commands:
    """The sweep again, with more trials."""
    kept = [override for override in overrides if override.partition("=")[0] != "trials"]
    return lambda comparison, trials: _command([*kept, f"trials={trials}"])


def by_cells(results: CellResults, folder: Path) -> Commands:
    """The comparison's own cells, as they were asked for; in one command where they differ in one column alone."""

    overrides = results.cells["overrides"].to_dict()

    def command(comparison: Comparison, trials: int) -> str:
        ends = [f"trials={trials}"] + ([] if folder == Path("results") else [f"paths.results={folder}"])
        pair = comparison.pairs[0]
        asked = [[each for each in overrides[cell] if _key(each) not in NOT_OF_A_CELL] for cell in pair]
        first, second = (set(each) for each in asked)
        keys = {_key(override) for override in first ^ second}
        if len(keys) == 1 and (key := keys.pop()) in results.axes:
            values = ",".join(str(value) for value in results.cells.loc[list(pair), key])
            return _command([*(each for each in asked[0] if _key(each) != key), f"{key}={values}", *ends])
        return " && ".join(_command([*each, *ends]) for each in asked)

    return command


def _key(override: str) -> str:
    return override.partition("=")[0]


def _command(overrides: Sequence[str]) -> str:
    return shlex.join(["python", "train.py", *overrides])
