"""Hydra's door to `scarf_lightning.sweeping.slurm`."""

from collections.abc import Sequence
from typing import Any, NoReturn

from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf


class SlurmLauncher(Launcher):
    """Keeps the options of ``hydra/launcher=slurm`` for our sweeper, which submits the job array."""

    def __init__(self, **options: Any) -> None:
        self.options: dict[str, Any] = {}
        for name, value in options.items():
            # The class of the options takes plain lists, as of `setup` and `sbatch`.
            self.options[name] = OmegaConf.to_container(value) if OmegaConf.is_config(value) else value

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Nothing is needed of Hydra: a task finds its cells in a file."""

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Refuse the jobs of another sweeper."""
        _refuse()


def _refuse() -> NoReturn:
    # Hydra imports every plugin in every program, so the package is imported only where it is used.
    from scarf_lightning.errors import UsageError

    raise UsageError("hydra/launcher=slurm works with our own sweeper alone; leave hydra/sweeper out.")
