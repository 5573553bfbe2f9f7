"""Sweeps from Python, in this process, as `train.py` runs them from a command line."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hydra._internal.hydra import Hydra
from hydra.types import RunMode
from omegaconf import DictConfig

from ..config import named_plugins
from ..config.hydra import hydra_started
from ..errors import UsageError
from ..folders import SWEEPS
from ..results import with_unsaid
from ..sweeping.cell import distinct
from ..sweeping.composer import Composer
from ..sweeping.expand import expand
from ..sweeping.survey import SurveyedCell, survey
from .job import train_job

if TYPE_CHECKING:
    import pandas as pd

NOT_HERE = {
    "hydra.mode": "train.py takes it",
    "hydra/sweeper": "train.py takes it",
    "plan": "use scarf_lightning.plan",
}
"""Overrides that `run` refuses, and what to do."""
PLANNED = ("state", "trials", "missing", "core_hours")
NO_AXES = ("science", "data")


def run(asked: str | Sequence[str] = (), *overrides: str) -> "pd.DataFrame":
    """Train what is not finished of a sweep, or of every combination of overrides; progress and a table are shown.

    ``run("quick")``, ``run("temperature", "dataset=wdbc", "trials=10")``,
    ``run(["corruption=mean,marginal", "trials=2"])``: what follows ``train.py`` on a command line is said here alike,
    and trains the same cells, which are kept in the same folder.

    Args:
        asked: a sweep by its name or path, or overrides.
        overrides: more of these.

    Returns:
        The trials that were asked for, a row each: the columns of `scarf_lightning.load`.

    Raises:
        UsageError: something is wrong with what is asked, and nothing was trained.
        UnfinishedError: cells failed; the others are kept.
    """
    given = overrides_of(asked, overrides)
    for override in given:
        option = override.partition("=")[0]
        if option in NOT_HERE:
            raise UsageError(f"{override} is not for scarf_lightning.run: {NOT_HERE[option]}.")
    with hydra_started(named_plugins(given)) as hydra:
        return _trials(hydra.multirun("train", task_function=train_job, overrides=given))


def plan(asked: str | Sequence[str] = (), *overrides: str) -> "pd.DataFrame":
    """What there is to do of a sweep, or of every combination of overrides; nothing is trained.

    Args:
        asked: as for `run`.
        overrides: more of these.

    Returns:
        A row a cell: its axes; ``state`` (finished, running, failed, waiting); ``trials`` that are asked for and
        ``missing`` of them; ``core_hours`` that these are expected to take, a shared pre-training in the first cell
        that starts from it.

    Raises:
        UsageError: something is wrong with what is asked.
    """
    import pandas as pd

    from ..sweeping.plan import core_hours

    given = overrides_of(asked, overrides)
    with hydra_started(named_plugins(given)) as hydra:
        request = expand(given, Composer(hydra.config_loader, master_of(hydra)), SWEEPS)
    surveyed = survey(distinct(request.cells))
    rows = [
        {axis: value for axis, value in axes.items() if axis not in NO_AXES}
        | {"state": str(each.state), "trials": each.cell.config.trials, "missing": each.n_missing, "core_hours": hours}
        for each, axes, hours in zip(
            surveyed, with_unsaid([each.axes for each in surveyed]), core_hours(surveyed), strict=True
        )
    ]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    return pd.DataFrame(rows, columns=[*(column for column in columns if column not in PLANNED), *PLANNED])


def master_of(hydra: Hydra) -> DictConfig:
    """The configuration that a command line without options makes, as Hydra gives it to a sweeper."""
    return hydra.config_loader.load_configuration("train", overrides=[], run_mode=RunMode.MULTIRUN)


def overrides_of(asked: str | Sequence[str], more: Sequence[str]) -> list[str]:
    """Overrides, of which a sweep's name alone is one."""
    first = [asked] if isinstance(asked, str) else list(asked)
    return [override if "=" in override else f"sweeps={override}" for override in first] + list(more)


def _trials(surveyed: Sequence[SurveyedCell]) -> "pd.DataFrame":
    """The rows of the trials that were asked for, in the order of the cells."""
    import pandas as pd

    from ..results import load

    trials: dict[Path, dict[str, int]] = {}
    for each in surveyed:
        store, config = each.cell.store(), each.cell.config
        if store is not None:
            asked = trials.setdefault(each.cell.results, {})
            asked[store.fingerprint] = max(config.trials, asked.get(store.fingerprint, 0))
    frames = [(load(results, asked), asked) for results, asked in trials.items()]
    wanted = [frame[frame["trial"] < frame["fingerprint"].map(asked)] for frame, asked in frames]
    return pd.concat(wanted, ignore_index=True) if len(wanted) > 1 else wanted[0].reset_index(drop=True)
