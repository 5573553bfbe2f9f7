"""Options of Hydra's own that cannot do what they say here."""

import shutil
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ..errors import UsageError


def check_hydra(hydra: Any) -> None:
    """Refuse an option that would be ignored, or would lose results.

    Args:
        hydra: the section of that name.

    Raises:
        UsageError: which one, and what to do.
    """
    if hydra.job.chdir:
        raise UsageError(
            "hydra.job.chdir=true: results and tables are found from the folder that the command runs in; "
            "paths.results=FOLDER says where results go, hydra.sweep.dir=FOLDER where Hydra's own files do."
        )
    is_sweep = str(hydra.mode).endswith("MULTIRUN")
    unheard, heard = ("hydra.run.", "hydra.sweep.dir") if is_sweep else ("hydra.sweep.", "hydra.run.dir")
    for override in hydra.overrides.hydra:
        if override.lstrip("+").startswith(unheard):
            mode = "a sweep" if is_sweep else "hydra.mode=RUN"
            raise UsageError(f"{override} is not for {mode}, whose folder for Hydra's own files is {heard}.")


def remove_logs(launcher: DictConfig) -> None:
    """Of jobs that all went well, in the folder that our presets give submitit; a folder of the user's stays."""
    options = OmegaConf.to_container(launcher, resolve=False)
    assert isinstance(options, dict)
    if "/${now:" in str(options.get("submitit_folder")):
        logs = Path(launcher.submitit_folder).parent
        shutil.rmtree(logs, ignore_errors=True)
        if logs.parent.is_dir() and not any(logs.parent.iterdir()):
            logs.parent.rmdir()
