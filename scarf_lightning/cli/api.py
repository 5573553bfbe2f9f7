"""Sweeps from Python, in this process, as `train.py` runs them from a command line."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..screen import silent
from ..sweeping.cell import HOUR, Cell, planned
from ..sweeping.compose import Composer, named_plugins, overrides_of
from ..sweeping.expand import expand
from .running import check_before_training, refuse_untaken, sweeping

if TYPE_CHECKING:
    import pandas as pd

NOT_HERE = {
    "hydra.mode": "train.py takes it",
    "hydra/sweeper": "train.py takes it",
    "plan": "use scarf_lightning.plan",
}
"""Overrides that `run` refuses, and what to do."""


def run(
    sweep: str | Sequence[str] = (),
    *overrides: str,
    verbose: bool = True,
    config_dir: str | Path | None = None,
) -> "pd.DataFrame":
    """Train the unfinished cells of a sweep, or of every combination of overrides, and show progress and a table.

    ``run("quick")``, ``run("temperature", "dataset=wdbc", "trials=10")``,
    ``run(["corruption=mean,marginal", "trials=2"])`` train the same cells, in the same folder, as ``train.py`` does
    with these arguments.

    Args:
        sweep: a sweep by its name or path, or overrides.
        overrides: more overrides.
        verbose: show progress and results; warnings and errors are shown without it too.
        config_dir: a folder with files of options of yours, as ``--config-dir`` of ``train.py``: ``dataset/NAME.yaml``
            in it makes ``dataset=NAME`` work.

    Returns:
        A row for each trial, with the columns of `scarf_lightning.load`.

    Raises:
        UsageError: an override or the folder is wrong; nothing was trained.
        UnfinishedError: cells failed; the others are kept.
    """
    arguments = overrides_of(sweep, overrides)
    for override in arguments:
        option = override.partition("=")[0]
        # These would train nothing, or leave no cells to return the rows of.
        if option in NOT_HERE:
            raise UsageError(f"{override} is not for scarf_lightning.run: {NOT_HERE[option]}.")
    refuse_untaken(named_plugins(arguments))
    with nullcontext() if verbose else silent(), sweeping(arguments, config_dir) as train:
        return _trials(train())


def plan(sweep: str | Sequence[str] = (), *overrides: str, config_dir: str | Path | None = None) -> "pd.DataFrame":
    """Find out what is left to train of a sweep, or of every combination of overrides.

    Args:
        sweep, overrides, config_dir: as for `run`.

    Returns:
        A row for each cell: its options; its ``state`` (finished, running, failed, waiting); its number of ``trials``
        and how many of them are ``missing``; and the ``core_hours`` that these are expected to take, with an equal
        part of a pre-training that several cells share.
    """
    import pandas as pd

    arguments = overrides_of(sweep, overrides)
    refuse_untaken(named_plugins(arguments))
    request = expand(arguments, Composer(arguments, config_dir))
    check_before_training(request.cells, request.sweep)
    planned(request.cells)
    rows = []
    for cell in request.cells:
        state = {"state": str(cell.state), "trials": cell.config.trials, "missing": len(cell.missing)}
        rows.append(cell.axes | state | {"core_hours": cell.seconds / HOUR})
    frame = pd.DataFrame(rows)
    # Options that the first cell lacks come last.
    last = ["state", "trials", "missing", "core_hours"]
    return frame[[*frame.columns.difference(last, sort=False), *last]]


def _trials(cells: Sequence[Cell]) -> "pd.DataFrame":
    """The rows of the wanted trials, in the order of the cells."""
    import pandas as pd

    from ..results import load

    trials: dict[Path, dict[str, int]] = {}
    for cell in cells:
        if cell.folder is not None:
            n_trials, n = trials.setdefault(cell.results, {}), cell.config.trials
            # Two cells may be one once their data are known, as a corruption that selects no feature is none.
            n_trials[cell.folder.name] = max(n, n_trials.get(cell.folder.name, 0))
    frames = []
    for results, n_trials in trials.items():
        frame = load(results, n_trials)
        # An earlier run may have trained more trials.
        frames.append(frame[frame["trial"] < frame["fingerprint"].map(n_trials)])
    # An array of jobs that is left in the queue has trained nothing yet.
    if not frames:
        return pd.DataFrame()
    return pd.concat(frames, ignore_index=True)
