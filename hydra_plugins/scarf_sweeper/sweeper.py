"""Hydra's door to `scarf_lightning.sweeping`."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.plugins.launcher import Launcher
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from .slurm_launcher import SlurmLauncher

if TYPE_CHECKING:
    from scarf_lightning.sweeping.compose import Composer
    from scarf_lightning.sweeping.workers import Launch

PACKAGES = {"joblib": "hydra_plugins.hydra_joblib_launcher"}
"""Launchers of other packages, by name."""


class Presets(SearchPathPlugin):
    """Hydra would merge our presets in ``conf/hydra/`` into the nodes that other packages store under the same names,
    which allow no option but their own: these nodes are forgotten once all plugins are loaded."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        nodes = ConfigStore.instance().repo["hydra"]
        # Absent where the package is not installed.
        for name in PACKAGES:
            nodes["launcher"].pop(f"{name}.yaml", None)


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
        self.launcher_name = ""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        # Hydra imports every plugin in every program, so heavy modules are imported only where they are used.
        from hydra.core.plugins import Plugins

        from scarf_lightning.errors import require

        self.config, self.hydra_context = config, hydra_context
        self.launcher_name = str(config.hydra.runtime.choices["hydra/launcher"])
        # Hydra would end in a traceback if the package of a launcher is not installed.
        package = PACKAGES.get(self.launcher_name)
        if package is not None:
            require(package, f"hydra/launcher={self.launcher_name}")
        self._launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> Any:
        from scarf_lightning.cli.process import ended_by_signals
        from scarf_lightning.cli.running import check_before_training, load_training
        from scarf_lightning.cli.show import Terminal
        from scarf_lightning.sweeping.expand import expand
        from scarf_lightning.sweeping.run import run

        composer = self.composer(arguments)
        request = expand(arguments, composer)
        # A command that repeats the run finds its presets by this flag.
        if composer.config_dir:
            request.arguments = [f"--config-dir={composer.config_dir}", *arguments]
        check_before_training(request.cells, request.sweep)
        with ended_by_signals():
            return run(request, load_training, Terminal(), self.launch(arguments))

    def composer(self, arguments: list[str]) -> "Composer":
        """The composer of cells."""
        from scarf_lightning.sweeping.compose import Composer

        assert self.config is not None
        return Composer(arguments, next(iter(self.config.hydra.searchpath), None))

    def launch(self, arguments: list[str]) -> "Launch | None":
        """The way in which another launcher than Hydra's basic one starts jobs."""
        from scarf_lightning.options.checking import checked
        from scarf_lightning.sweeping.launchers import Slurm, SlurmOptions, launch_by

        if self.launcher_name == "basic":
            return None
        assert self._launcher is not None
        # One array holds all jobs, and Hydra's interface knows single jobs alone.
        if isinstance(self._launcher, SlurmLauncher):
            return Slurm(checked(SlurmOptions, self._launcher.options, "hydra.launcher"), arguments)
        return partial(launch_by, self._launcher)
