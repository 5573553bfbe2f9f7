"""The files of `conf/` and `sweeps/`, and what they say."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ..errors import UsageError, unknown_name
from ..options.checking import checked
from ..options.settings import expanded
from ..results.records import DamagedRecordError, read_bytes

PACKAGE = Path(__file__).parents[1]
# In a checkout they lie beside the package; `setup.py` puts them into the package in a wheel.
ROOT = PACKAGE if (PACKAGE / "conf").is_dir() else PACKAGE.parent
CONF, SWEEPS = ROOT / "conf", ROOT / "sweeps"
NO_AXIS = {"plugins", "paths", "logger", "hydra", "chunk", "force", "sweeps", "plan", "max_cells"}
"""Sections that no sweep file sets, for it may be of another author: they import code, say where files are, or change
what the run does."""
# Of a sweep file, which may be of another author.
MOST_BYTES = 1_000_000
MOST_ALIASES = 8


def content_of(choice: str) -> Any:
    """What the file of a choice of ours says, as of ``recipe/paper``; nothing if there is none, as of a user's own."""
    file = CONF / f"{choice}.yaml"
    return OmegaConf.to_container(OmegaConf.load(file)) if file.is_file() else {}


@cache
def recipe_options(name: str) -> Mapping[str, Any]:
    """The options that a recipe of ours sets, by their full names, and their values."""
    options: dict[str, Any] = {}
    content = content_of(f"recipe/{name}")
    for default in content.pop("defaults", ()):
        # A recipe may begin with another one. An entry that is no name chooses a part of an axis.
        if isinstance(default, str):
            options |= recipe_options(default)
    return options | dict(flat(content))


def flat(options: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Options by their full names, which begin with ``prefix``, and their values."""
    for name, value in options.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


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
        file: that it was read from.

    Raises:
        ValueError: a block does more than name cells.
    """

    name: str
    title: str
    cells: list[dict[str, Any]]
    paper: str | None = None
    trials: int | None = None
    report: list[dict[str, Any]] = field(default_factory=list)
    file: str = ""

    def __post_init__(self) -> None:
        if not self.cells:
            raise ValueError("cells must be a list of blocks, each with axes and their values")
        for axis in chain.from_iterable(self.cells):
            if NO_AXIS.intersection(re.split(r"[./@+~ ]", axis)):
                raise ValueError(f"{axis!r} is no axis; a sweep file only names cells, by OPTION: [VALUE, VALUE]")
        # A backslash may hide what Hydra would look up.
        if re.search(r"\$\W*\{", str(self.cells)):
            raise ValueError("${...} looks a value up, and a sweep file has plain values; write the value")

    @property
    def is_of_user(self) -> bool:
        """Tell whether it is a file of the user's, and not one of ours."""
        return Path(self.file).parent != SWEEPS

    def leading(self, usual: str) -> str:
        """The name of the metric that leads if no run sets one: accuracy in the sweeps of the paper, which
        measures by it however rare a class is."""
        return "accuracy" if self.paper and usual == "balanced_accuracy" else usual


def read_sweep(name: str, folders: Sequence[Path]) -> SweepFile:
    """Read the sweep of this name in the first of the folders that has it, or the file at this path.

    Raises:
        UsageError: there is no such file, or it is not a sweep.
    """
    # A path is relative to the working folder.
    for file in [*(folder / f"{name}.yaml" for folder in folders), expanded(name)]:
        if file.exists():
            return _read(file)
    names = [file.stem for folder in folders for file in sorted(folder.glob("*.yaml"))]
    raise UsageError(unknown_name(f"sweeps={name}: there is no such file", name, names, "the sweeps"))


def _read(file: Path) -> SweepFile:
    try:
        text = read_bytes(file, MOST_BYTES).decode()
        # Aliases of aliases would expand to any number of values.
        if sum(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)) > MOST_ALIASES:
            raise ValueError("it has too many aliases (*NAME); write the values out")
        # Its loader is PyYAML's safe one, which reads 1e-3 as a number and refuses a name that occurs twice.
        content: Any = OmegaConf.to_container(OmegaConf.create(text))
        if not isinstance(content, dict):
            raise ValueError("it must have title and cells, each with a value")
        # The file's own name is the name of the sweep.
        return checked(SweepFile, {**content, "name": file.stem, "file": str(file)})
    # Deep nesting ends Python's recursion.
    except (DamagedRecordError, yaml.YAMLError, OmegaConfBaseException, ValueError, RecursionError) as error:
        reason = str(error).partition("full_key:")[0].split()
        raise UsageError(f"{file} is no sweep: {' '.join(reason).removesuffix('.')}.") from error
