"""The gate for text that becomes an option: who wrote it decides how far it may reach.

Most options decide numbers alone, and anybody may write them. Some reach further: they import code, say where files go,
look at the environment, or change what the machine does. The user may type all of them. A file may be of another
author, so each kind of file has rights of its own, and its text passes here before anything is imported or composed.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ..errors import UsageError

TARGET = "_target_"
"""The option of a section that names its class, as everywhere with Hydra."""
OURS = "scarf_lightning."
"""Begins the name of a class of this package."""
GLOBAL = "_global_"
"""The package of a configuration file that says itself which sections it has."""
REFERENCE = re.compile(r"\$\{(?:(?:scarf\.\w+|oc\.select):)?[\w.,\- ]*\}")
"""An interpolation that reads other options alone: ``${finetune.batch_size}``."""
JOBS = ("launcher", "sweeper")
"""The groups of Hydra's that decide how cells are trained."""
NAMES_OF_JOBS = ("name", "partition", "account", "qos", "constraint", "study_name", "direction")
"""Options of a launcher or a sweeper whose text is a name. Texts of others may be paths, or lines of shell."""


class Origin(Enum):
    """The author of a text that becomes an option."""

    TYPED = "the command line"
    PYTHON = "a call in Python"
    CONFIGURATION = "a file of --config-dir"
    SWEEP = "a sweep file"
    RESULTS = "a file of results"


class Reach(Enum):
    """The way in which an option reaches beyond the numbers of a cell."""

    IMPORT = "imports code"
    ESTIMATOR = "names an estimator of an installed package"
    LOGGER = "decides what a logger is and where it writes"
    FOLDER = "decides where files are"
    LOOK_UP = "looks something up outside the options"
    REFER = "refers to another option"
    JOBS = "says how jobs are started"
    MACHINE = "changes what this machine does"
    AGAIN = "sets finished cells aside"


RIGHTS: Mapping[Origin, frozenset[Reach]] = {
    Origin.TYPED: frozenset(Reach),
    Origin.PYTHON: frozenset(Reach),
    Origin.CONFIGURATION: frozenset({Reach.LOGGER, Reach.REFER, Reach.JOBS, Reach.ESTIMATOR}),
    Origin.SWEEP: frozenset({Reach.ESTIMATOR}),
    Origin.RESULTS: frozenset(),
}
"""The reaches that each origin is allowed. The class of a logger may stand in a file of ``--config-dir``: whoever names
that folder chooses loggers by it."""


@dataclass(frozen=True)
class Gate:
    """The gate for the texts of one author.

    Attributes:
        origin: of the texts.
        file: that they are in, for messages.
    """

    origin: Origin
    file: str

    def check(self, option: str, value: Any) -> None:
        """Refuse an option that reaches further than its author may.

        Args:
            option: its name, as an override or a file spells it: ``+logger.mine``, ``hydra/launcher``.
            value: plain; a dictionary sets the options below this one, and of a list every value counts.

        Raises:
            UsageError: names the file, the option, and its reach.
        """
        for path, reach in reaches(path_of(option), value):
            self.refuse_beyond(path, reach)

    def refuse_beyond(self, path: tuple[str, ...], reach: Reach) -> None:
        """Refuse the option at a place if its reach is beyond the rights of this author, by a `UsageError`."""
        if reach not in RIGHTS[self.origin]:
            raise UsageError(
                f"{self.file} sets {'.'.join(path)}, which {reach.value}, and {self.origin.value} may not; take it "
                "out of the file and give it on the command line."
            )


def reaches(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Reach]]:
    """The options that a value sets at a place and that reach beyond a cell's numbers, each with its reach."""
    for place, leaf in _leaves(path, value):
        # Spaces of a sweep stand below this option by the names of what they set.
        own = place[3:] if place[:3] == ("hydra", "sweeper", "params") else place
        for reach in _leaf_reaches(own, leaf):
            yield place, reach


def _leaf_reaches(path: tuple[str, ...], leaf: Any) -> Iterator[Reach]:
    section, text = path[:1], leaf if isinstance(leaf, str) else ""
    is_of_logger = section == ("logger",)
    # The class of a part of ours is for Hydra's own `instantiate`: here parts are built by their names.
    is_ours = path[-1:] == (TARGET,) and text.startswith(OURS)
    # A text may be a dictionary in Hydra's notation: +logger.mine: "{_target_:CLASS}".
    if (TARGET in path or TARGET in text) and not is_ours:
        yield Reach.LOGGER if is_of_logger else Reach.IMPORT
    # A key for a service is best read from the environment.
    if "${" in text and not is_of_logger:
        yield Reach.LOOK_UP if "${" in REFERENCE.sub("", text) else Reach.REFER
    if section == ("plugins",):
        yield Reach.IMPORT
    elif section == ("paths",):
        yield Reach.FOLDER
    # logger=csv chooses one of ours, which writes below the results.
    elif is_of_logger and len(path) > 1:
        yield Reach.LOGGER
    elif section == ("hydra",):
        yield Reach.JOBS if _is_of_jobs(path[1:], leaf) else Reach.MACHINE
    # A launcher's job takes its cells from a file that the command has written; all else of it are numbers.
    elif section == ("chunk",) and text:
        yield Reach.MACHINE
    elif path == ("force",):
        yield Reach.AGAIN
    elif path == ("method", "estimator"):
        yield Reach.ESTIMATOR


def _is_of_jobs(path: tuple[str, ...], leaf: Any) -> bool:
    """True if an option of Hydra's chooses a launcher or a sweeper, or sets an option of it that is no path and no line
    of shell."""
    if path[:1] not in [(group,) for group in JOBS]:
        return False
    is_choice = len(path) == 1 or path == ("sweeper", "sampler")
    return is_choice or not isinstance(leaf, str) or path[-1] in NAMES_OF_JOBS


def _leaves(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The single values below a place, each with its own place."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _leaves((*path, *path_of(str(name))), each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _leaves(path, each)
    else:
        yield path, value


def path_of(option: str) -> tuple[str, ...]:
    """The parts of an option's name: ``+hydra/launcher`` and ``hydra.launcher`` have the same."""
    return tuple(part for part in re.split(r"[./]", option.lstrip("+~")) if part)


def check_configuration(file: str, group: str, package: str | None, content: Mapping[Any, Any]) -> None:
    """Check a file of ``--config-dir``, before Hydra composes with it.

    Args:
        file: its name, for messages.
        group: its folder below that of the configuration, such as ``experiment``.
        package: the place of its options that its header names; None is the group.
        content: as YAML has it.

    Raises:
        UsageError: as by `Gate.check`.
    """
    gate = Gate(Origin.CONFIGURATION, file)
    options = {name: value for name, value in content.items() if name != "defaults"}
    place = group if package is None else package.replace("_group_", group).replace(GLOBAL, "")
    gate.check(place, options)
    # Another file may put these options at the top, by /group@_global_. Classes and interpolations reach as far there.
    for path, reach in reaches((), options):
        if TARGET not in path and reach not in (Reach.LOOK_UP, Reach.REFER):
            gate.refuse_beyond(path, reach)
    for entry in content.get("defaults") or ():
        chosen = entry if isinstance(entry, Mapping) else {entry: ""}
        for key, name in chosen.items():
            # An entry may begin with "override" or "optional".
            named, _, package_of_entry = str(key).split(" ")[-1].partition("@")
            gate.check(named if named.startswith("/") else f"{group}/{named}", name)
            # The content of that file is put there. What only a logger may look up stays in its section.
            if package_of_entry:
                gate.check(package_of_entry.replace(GLOBAL, ""), name)
            if package_of_entry and path_of(named)[:1] == ("logger",):
                gate.refuse_beyond(("logger",), Reach.LOOK_UP)
