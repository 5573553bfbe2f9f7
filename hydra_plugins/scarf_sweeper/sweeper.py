"""Hydra's door to `scarf_lightning.sweeping`."""

import sys
from dataclasses import dataclass

from hydra.core.config_store import ConfigStore
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


@dataclass
class ScarfSweeperConf:
    """The sweeper has no options of its own."""

    _target_: str = "hydra_plugins.scarf_sweeper.sweeper.ScarfSweeper"


ConfigStore.instance().store(group="hydra/sweeper", name="scarf", node=ScarfSweeperConf, provider="scarf_lightning")


class ScarfSweeper(Sweeper):
    """Expands the overrides to cells, checks all of them, and runs those that are not finished."""

    def __init__(self) -> None:
        super().__init__()
        self._launcher: Launcher | None = None

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        from hydra.core.plugins import Plugins

        self.config, self.hydra_context = config, hydra_context
        self._launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> None:
        from scarf_lightning.sweeping.expand import expand
        from scarf_lightning.sweeping.run import run

        assert self.hydra_context is not None
        assert self.config is not None
        assert self._launcher is not None
        cells = expand(arguments, self.hydra_context.config_loader, self.config)
        status = run(cells, self._launcher)
        if status:
            sys.exit(status)
