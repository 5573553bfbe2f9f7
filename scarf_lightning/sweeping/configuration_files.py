"""Files of YAML that a user wrote: sweeps, and the options in a folder of ``--config-dir``."""

import re
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import yaml

from ..errors import UsageError
from ..options.gate import GLOBAL, check_configuration

HEADER = "# @package"
PACKAGE = re.compile(r"\ufeff?\s*#\s*@package +(\S+)\s*")
LIKE_A_HEADER = re.compile(r"\ufeff?\s*#\s*@\s*package|\s*#.*_global_", re.IGNORECASE)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """YAML in which a key that stands twice is a mistake, and not the last of both values."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set[Any]()
        for key, _ in node.value:
            # A merge, <<, may stand beside the keys that it brings.
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                continue
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"{key.value} stands twice", problem_mark=key.start_mark
                )
            seen.add(key.value)
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return mapping


def read_yaml(file: Path, shown: str | None = None) -> Any:
    """The content of a file of YAML, as plain values.

    Args:
        file: to read.
        shown: its name in messages, the path if there is none.

    Raises:
        UsageError: it is not YAML, or no text; names the file and the line.
    """
    name = shown or str(file)
    try:
        return yaml.load(file.read_text(encoding="utf-8"), _Loader)
    except yaml.MarkedYAMLError as error:
        raise UsageError(f"{name} is not YAML: {_slip(error)}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not YAML: its text is not UTF-8; save it as UTF-8.") from error
    # A ValueError is an impossible date; deep nesting ends Python's recursion.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{name} is not YAML: {' '.join(str(error).split())}.") from error


def _slip(error: yaml.MarkedYAMLError) -> str:
    """A slip with its line. PyYAML has words of its parser for two that are frequent."""
    mark, problem = error.problem_mark, " ".join((error.problem or str(error)).split())
    if "'\\t'" in problem:
        problem = "a tab stands where blanks indent"
    elif "flow" in str(error.context) and error.context_mark is not None:
        mark, problem = error.context_mark, "a bracket opens that does not close"
    return problem if mark is None else f"line {mark.line + 1}: {problem}"


def check_file(file: Path, option: str) -> None:
    """Check a file of ``--config-dir`` before Hydra reads it.

    Args:
        file: its path.
        option: the path below the folder, without an ending: ``experiment/short``.

    Raises:
        UsageError: it is not YAML, its options have no place, or it sets what no such file may.
    """
    name = _shown(file)
    # An empty file sets nothing.
    content = read_yaml(file, name) or {}
    if not isinstance(content, Mapping):
        raise UsageError(f"{name} must be options by name, as in trials: 2.")
    defaults = content.get("defaults") or []
    if not isinstance(defaults, list):
        raise UsageError(f"{name}: defaults must be a list, as in: defaults: [override /corruption: mean].")
    group = option.rpartition("/")[0]
    package = package_of(file, name)
    check_configuration(name, group, package, content)
    _check_place(name, group, package)
    if package == GLOBAL and "sweeps" in content:
        raise UsageError(f"{name}: a sweep is named on the command line alone: sweeps={content['sweeps']}.")
    for entry in defaults:
        _check_entry(name, group, entry)


def _shown(file: Path) -> str:
    """The path as a user would type it."""
    return str(file.relative_to(Path.cwd())) if file.is_relative_to(Path.cwd()) else str(file)


def package_of(file: Path, name: str) -> str | None:
    """The package that a file's header names, as Hydra reads it; None without a header."""
    lines = file.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        if not LIKE_A_HEADER.match(line):
            continue
        found, asked = PACKAGE.fullmatch(line), f"{name}, line {number + 1}: {line.strip()}"
        if found is None:
            raise UsageError(f"{asked} is no header that Hydra reads; write {HEADER} {GLOBAL}.")
        if number == 0 and line.startswith("\ufeff"):
            raise UsageError(
                f"{name} begins with a byte order mark, before which Hydra reads no header; save it without."
            )
        # Hydra stops at the first line that is no header.
        if any(before.strip() for before in lines[:number]):
            raise UsageError(f"{asked} is read in the first line alone; move it there.")
        return found[1]
    return None


def _check_place(name: str, group: str, package: str | None) -> None:
    """Refuse a file without a header whose options would stand below its folder, where there are none."""
    # Imported here, since every command finds its sweeps by this module.
    from ..options.axes import AXES
    from ..options.config import Config

    sections = {axis.name for axis in AXES} | {*Config.__dataclass_fields__, "hydra"}
    place = (group if package in (None, "_group_") else str(package)).replace("/", ".").partition(".")[0]
    if place in ("", GLOBAL, *sections):
        return
    raise UsageError(
        f"{name} sets options below {place}, where there are none; its first line must be: {HEADER} {GLOBAL}"
    )


def _check_entry(name: str, group: str, entry: Any) -> None:
    """Refuse an entry of a defaults list that YAML or Hydra reads otherwise than it is meant."""
    from ..options.axes import AXES

    for key, chosen in entry.items() if isinstance(entry, Mapping) else ():
        axis = str(key).split(" ")[-1].lstrip("/")
        # YAML's false is written no and off, too.
        if isinstance(chosen, bool):
            raise UsageError(
                f"{name}: YAML reads the option after {key} as {str(chosen).lower()}; {axis} is chosen by name, and "
                "--help lists the names."
            )
        # Every axis is chosen already, and a name without a slash is that of a folder beside the file.
        if key == axis and axis in {each.name for each in AXES} and axis != group:
            raise UsageError(f"{name}: {axis} is chosen already; write override /{axis}: {chosen}.")
