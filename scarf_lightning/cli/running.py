"""Before training, training by a sweeper of Hydra's, and the jobs of its launchers."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hydra import compose
from hydra._internal.callbacks import Callbacks
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig

from ..errors import UsageError, unknown_name
from ..machine import without_garbage_collection
from ..metrics import metrics
from ..options import Config
from ..screen import screen
from ..sweeping.cell import Cell
from ..sweeping.compose import Composer, hydra_started, named_plugins, offer, parsed, search_path
from ..sweeping.expand import expand
from ..sweeping.folders import SweepFile
from ..sweeping.launchers import read_job
from ..sweeping.run import run
from ..sweeping.workers import TrainCells
from .process import ended_by_signals
from .show import Terminal

VALIDATION_ERROR = "validation_error"
"""The objective that uses no test row."""


@contextmanager
def sweeping(arguments: Sequence[str], config_dir: str | Path | None = None) -> Iterator[Callable[[], Any]]:
    """What trains the cells of a command line, by the sweeper that it names; ours returns how far each cell is.

    Args:
        arguments: overrides.
        config_dir: the folder of ``--config-dir``.

    Raises:
        UsageError: one of them is wrong.
    """
    hydra_overrides, cell_overrides, presets = list[str](), list[str](), list[str]()
    for override in parsed(arguments):
        line, name = str(override.input_line), override.get_key_element()
        (hydra_overrides if override.is_hydra_override() else cell_overrides).append(line)
        # A preset may choose the launcher.
        if name.startswith("+") and "." not in name and not override.is_sweep_override():
            presets.append(line)
    with hydra_started():
        offer(named_plugins(arguments))
        # Hydra's own way would compose the single values of a sweep with the default part of each axis, and refuse an
        # option that only other parts have.
        overrides = [*search_path(config_dir), *hydra_overrides, *presets]
        master = compose("train", overrides=overrides, return_hydra_config=True)
        callbacks = Callbacks(master)
        callbacks.on_multirun_start(config=master, config_name="train")
        context = HydraContext(config_loader=GlobalHydra.instance().config_loader(), callbacks=callbacks)
        sweeper = Plugins.instance().instantiate_sweeper(config=master, hydra_context=context, task_function=train_job)
        yield partial(sweeper.sweep, cell_overrides)
        callbacks.on_multirun_end(config=master, config_name="train")


def train_job(job: DictConfig) -> float | None:
    """Train the cells of a job, and keep their results in the store.

    Our sweeper writes their file. Without one, as in Hydra's mode RUN and with other sweepers such as Optuna's, the
    configuration of the job is itself a cell. The job then returns the mean over trials of the metric ``objective``.
    """
    with ended_by_signals():
        if job.chunk.file is not None:
            load_training()(read_job(Path(job.chunk.file)), None)
            return None
        hydra = HydraConfig.get()
        arguments = list(hydra.overrides.task)
        # The configuration is composed once more, to refuse what no cell uses.
        request = expand([*arguments, "max_cells=1"], Composer(arguments, next(iter(hydra.searchpath), None)))
        (cell,) = request.cells
        # Refused before training: the sweeper would read it only at the end.
        check_objective(cell.config, job.objective, is_returned=hydra.mode is RunMode.MULTIRUN)
        # In this process, since the other sweeper starts processes of its own.
        run(request, load_training, Terminal(), lambda _: load_training()([cell], None))
        # A plan trains nothing.
        return None if cell.config.plan else objective(cell, job.objective)


def load_training() -> TrainCells:
    """Return a function that trains cells one after the other and keeps the last table; imports torch and Lightning."""
    with without_garbage_collection():
        from ..training.cell_loop import CellLoop

    return CellLoop().train


def check_objective(config: Config, name: str, *, is_returned: bool) -> None:
    """Refuse an objective that no cell has, or that this cell has no value of if a sweeper needs one.

    Raises:
        UsageError: it is so.
    """
    names = (VALIDATION_ERROR, *(metric.name for metric in metrics()))
    if name not in names:
        raise UsageError(unknown_name(f"objective={name} is unknown", name, names, "the objectives"))
    if is_returned and name == VALIDATION_ERROR and config.watched_from == math.inf:
        raise UsageError(
            f"objective={name} has no value with method={config.method['name']} and "
            f"finetune.monitor={config.finetune.monitor}, because no row validates; name a metric: objective=accuracy."
        )


def objective(cell: Cell, name: str) -> float:
    """The mean of a metric over a finished cell's trials that did not diverge."""
    from ..loggers import validation_errors
    from ..results import load_cell

    assert cell.store is not None
    stored = load_cell(cell.store.fingerprint, cell.results)
    trials = stored.trials.assign(**{VALIDATION_ERROR: validation_errors(stored)})
    # An earlier run may have trained more trials than this one has.
    is_wanted = trials["trial"] < cell.config.trials
    return float(trials[name][is_wanted].mean())


def refuse_untaken(plugins: Sequence[str]) -> None:
    """Refuse a class of a user's modules that is meant as a part, and that no command could name.

    Raises:
        UsageError: a module cannot be imported, or the sentence on such a class.
    """
    if plugins:
        # It imports torch, which the parts need anyway.
        from .. import trying

        trying.refuse_untaken(plugins)


def check_before_training(cells: Sequence[Cell], sweep: SweepFile | None = None) -> None:
    """Check the reference of a run, try the parts of a user's own that cells use, and their sweep file if it is one.
    Print notes on parts, if there are any.

    Raises:
        UsageError: one of them is wrong.
    """
    # A wrong reference is refused before hours of training, not by the report after them.
    if cells[0].config.reference is not None:
        # Imports pandas.
        from ..reporting.answers import check_reference

        check_reference(cells)
    if sweep is not None and sweep.is_of_user:
        check_sweep_file(sweep)
    if not any(cell.config.plugins for cell in cells):
        return
    from ..trying import check_used

    for note in check_used([cell.config for cell in cells]):
        screen().say(note)


def check_sweep_file(sweep: SweepFile) -> None:
    """Check the drawings that a sweep file of the user's names.

    Raises:
        UsageError: one of them is wrong.
    """
    # Without matplotlib there are no drawings, and a report is refused with a sentence.
    if not sweep.report or find_spec("matplotlib") is None:
        return
    # It imports matplotlib.
    from ..reporting.drawings import read_drawings

    read_drawings(sweep.report, str(sweep.file))
