"""The folders of the configuration and of the sweeps, and what their files say."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from ..errors import UsageError, unknown_name
from ..options.checking import are_usable, checked
from .configuration_files import read_yaml

PACKAGE = Path(__file__).parents[1]
OPTION = re.compile(r"\+{0,2}[A-Za-z_][\w./@]*")
"""The name of an option in a block, as Hydra reads one."""
NO_AXIS = frozenset({"plugins", "paths", "logger", "hydra", "chunk", "force", "sweeps", "plan", "max_cells"})
"""Sections that no sweep file sets, for it may be of another author: they import code, say where files are, or change
what the run does."""
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
ALL = "all"
"""Names the cells of all files that have an entry ``paper``."""


def _folder(name: str) -> Path:
    """In a checkout it stands beside the package; `setup.py` puts it into the package in a wheel."""
    inside = PACKAGE / name
    return inside if inside.is_dir() else PACKAGE.parent / name


CONF, SWEEPS = _folder("conf"), _folder("sweeps")


@cache
def recipe_options(name: str) -> Mapping[str, Any]:
    """The options that a recipe of ours sets, by their full names, and their values; none of a user's own recipe."""
    file = CONF / "recipe" / f"{name}.yaml"
    # A recipe of the user's is in a folder that Hydra alone knows.
    if not file.exists():
        return {}
    content = OmegaConf.to_container(OmegaConf.load(file))
    assert isinstance(content, dict)
    options: dict[str, Any] = {}
    for default in content.pop("defaults", []):
        # A recipe may begin with another one. An entry that is no name chooses a part of an axis.
        if isinstance(default, str) and default != "_self_":
            options |= recipe_options(default)
    return options | dict(flat(content))


def flat(options: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Options by their full names, which begin with ``before``, and their values."""
    for name, value in options.items():
        if isinstance(value, dict):
            yield from flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


@dataclass(frozen=True)
class SweepFile:
    """One file in ``sweeps/``.

    Args:
        name: of the file, without its ending.
        title: what the figure or table shows.
        cells: blocks; each is a product of axes, with one value or a list of values for each.
        paper: the figure or table of the paper.
        trials: of each cell, unless the command line sets them.
        report: the drawings of its report, see `scarf_lightning.reporting`.
        file: that it was read from; None for the cells of several files.
    """

    name: str
    title: str
    cells: list[dict[str, Any]]
    paper: str | None = None
    trials: int | None = None
    report: list[dict[str, Any]] = field(default_factory=list)
    file: Path | None = None

    @property
    def is_of_user(self) -> bool:
        """Tell whether it is a file of the user's, and not one of ours."""
        return self.file is not None and self.file.parent != SWEEPS

    def leading(self, usual: str) -> str:
        """The name of the metric that leads where no run asks for one: accuracy in the sweeps of the paper, which
        measures by it however rare a class is."""
        if self.paper is not None and usual == "balanced_accuracy":
            return "accuracy"
        return usual

    def blocks(self) -> list[list[str]]:
        """Each block as command-line arguments."""
        common = [] if self.trials is None else [f"trials={self.trials}"]
        blocks = []
        for block in self.cells:
            axes = []
            for axis, values in block.items():
                axes.append(f"{axis}={swept(values)}")
            blocks.append(axes + common)
        return blocks


def read_sweep(name: str, folder: Path) -> SweepFile:
    """Read the sweep of this name in ``folder``, or the file at this path; ``all`` reads those of the paper.

    Raises:
        UsageError: there is no such file, or it is not a sweep.
    """
    return _paper_cells(folder) if name == ALL else _read(name, folder)


def _paper_cells(folder: Path) -> SweepFile:
    """The cells of every figure and table of the paper as one sweep, without drawings."""
    files = [_read(path.stem, folder) for path in sorted(folder.glob("*.yaml"))]
    cells = []
    for file in files:
        if file.paper is None:
            continue
        # Files differ in their trials, so each block says them by itself.
        for block in file.cells:
            common = {} if file.trials is None else {"trials": file.trials}
            cells.append(common | block)
    if not cells:
        raise UsageError(f"sweeps={ALL}: no file in {folder} says where it is in the paper.")
    return SweepFile(ALL, "Everything that the paper shows", cells)


def _read(name: str, folder: Path) -> SweepFile:
    # A sweep of the user's is a path; a bare name is one of the folder's.
    is_path = "/" in name or name.endswith((".yaml", ".yml"))
    path = Path(name).expanduser() if is_path else folder / f"{name}.yaml"
    if is_path and path.exists() and not path.is_file():
        raise UsageError(f"sweeps={name}: {path} is no file; name a file of YAML.")
    if ADDRESS.match(name):
        raise UsageError(f"sweeps={name} is an address, and only files are read; download it, and name the file.")
    if not path.is_file():
        known = sorted(file.stem for file in folder.glob("*.yaml"))
        fault = f"sweeps={name}: there is no file {path}"
        raise UsageError(unknown_name(fault, name, [*known, ALL], "the sweeps", full_list=f"the folder {path.parent}"))

    content = read_yaml(path)
    if not isinstance(content, dict):
        raise UsageError(f"{path} must have title and cells, each with a value.")
    # The same limits as of a record, since a file may be of another author.
    if not are_usable([content]):
        raise UsageError(f"{path}: its values are nested too deep, too large, or no text.")
    try:
        # The file's own name is the name of the sweep.
        sweep = replace(checked(SweepFile, content | {"name": path.stem}), file=path)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    if not sweep.cells:
        raise UsageError(f"{path}: cells must be a list of blocks, each with axes and their values.")
    for block in sweep.cells:
        _check_block(path, block)
    return sweep


def _check_block(path: Path, block: Mapping[str, Any]) -> None:
    """Refuse a block that does more than name cells."""
    for axis in block:
        if not OPTION.fullmatch(axis):
            raise UsageError(f"{path}: {axis!r} is no name of an option; write OPTION: [VALUE, VALUE].")
        if NO_AXIS.intersection(re.split(r"[./@+]", axis)):
            raise UsageError(f"{path} sets {axis}, and a sweep file only names cells; give it on the command line.")
    if any("$" in text and "{" in text for text in _texts(block)):
        raise UsageError(f"{path}: ${{...}} looks a value up, and a sweep file has plain values; write the value.")


def _texts(value: Any) -> Iterator[str]:
    """All texts within a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Mapping, list)):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)


def swept(values: Any) -> str:
    """The values of an axis of a file in Hydra's notation. A list is swept; a list in a list is one value."""
    if isinstance(values, list):
        return ",".join(overrides_notation(value) for value in values)
    return overrides_notation(values)


def overrides_notation(value: Any, text: Callable[[Any], str] = str) -> str:
    """A plain value in the notation of a command line.

    Args:
        value: as YAML or Python has it.
        text: how a text, a number or anything else is written.

    >>> overrides_notation({"a": [None, "b"], "c": True})
    '{a:[null,b],c:true}'
    """
    if isinstance(value, (list, tuple)):
        return f"[{','.join(overrides_notation(each, text) for each in value)}]"
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{name}:{overrides_notation(each, text)}' for name, each in value.items())}}}"
    # Python would write None and True, which Hydra reads as texts.
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return text(value)
