"""Hydra's door to `scarf_lightning.sweeping.launchers`."""

from collections.abc import Sequence
from typing import Any

from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


class SlurmLauncher(Launcher):
    """Keeps the options of ``hydra/launcher=slurm`` for our sweeper, which submits the job array."""

    def __init__(self, **options: Any) -> None:
        self.options = options

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Nothing is needed of Hydra: a task finds its cells in a file."""

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Refuse the jobs of another sweeper."""
        # Hydra imports every plugin in every program, so the package is imported only where it is used.
        from scarf_lightning.errors import UsageError

        raise UsageError("hydra/launcher=slurm works with our own sweeper alone; leave hydra/sweeper out.")
