"""Any logger of Lightning's, by the class that a section of the configuration names."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..options.axes import TARGET
from ..options.logger_classes import arguments_of, logger_class
from .places import as_file_name, remove_own
from .view import CellView

if TYPE_CHECKING:
    from pytorch_lightning.loggers import Logger


OF_LIGHTNING = ("metrics.csv", "hparams.yaml", "events.out.tfevents.*")
"""Files that Lightning's loggers write for a run."""


@contextmanager
def opened(view: CellView, results: Path, name: str, section: Mapping[str, Any]) -> Iterator["Logger"]:
    """The logger of a section for one cell, with the options of the section as they are given.

    Where the class takes ``save_dir``, ``name``, ``version`` or ``run_name`` and the section leaves them out, they are
    ``<results>/<section>``, the name of the cell and its fingerprint. A folder of ``<save_dir>/*/<fingerprint>`` that
    holds files of Lightning's loggers and nothing else is replaced.
    """
    cls = logger_class(name, section)
    given = {option: value for option, value in section.items() if option != TARGET}
    cell_defaults = {
        "save_dir": str(results / name),
        "name": as_file_name(view.name),
        "version": view.id,
        "run_name": view.name,
    }
    taken = arguments_of(cls)
    arguments = {option: value for option, value in cell_defaults.items() if option in taken} | given
    if "save_dir" in arguments and arguments.get("version") == view.id:
        # A cell may have had another name when it was written last.
        remove_own(Path(arguments["save_dir"]).glob(f"*/{view.id}"), *OF_LIGHTNING)
    logger = cls(**arguments)
    described = {"name": view.name, "group": view.group, "tags": view.tags}
    if view.failure is not None:
        described["failure"] = view.failure
    logger.log_hyperparams(described)
    try:
        yield logger
    finally:
        # Lightning leaves a run of W&B's kind open, and the next cell would go on in it.
        finish = getattr(logger.experiment, "finish", None)
        if callable(finish):
            finish()
