"""Hydra's door to `scarf_lightning.cli.searching`."""

from typing import Any

from omegaconf import OmegaConf

from .sweeper import ScarfSweeper


class OptunaSweeper(ScarfSweeper):
    """Searches among cells: ``hydra/sweeper=optuna``."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._options: Any = OmegaConf.to_container(OmegaConf.create(options))

    def sweep(self, arguments: list[str]) -> Any:
        from scarf_lightning.cli.searching import run_search
        from scarf_lightning.cli.show import Terminal
        from scarf_lightning.sweeping.search import read_search

        composer, sweeps = self.composing()
        assert self.config is not None
        objective: Any = self.config.objective
        # Several metrics are refused as a plain list.
        if OmegaConf.is_config(objective):
            objective = OmegaConf.to_container(objective)
        search = read_search(self._options, arguments, objective, composer, sweeps)
        terminal = Terminal()
        return run_search(search, self.launch(terminal.say), terminal, self.launcher_name)
