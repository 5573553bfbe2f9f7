"""The reader of sweep files, which may be of another author: plain values, within limits."""

import itertools
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from ..errors import UsageError

MOST_BYTES = 1_000_000
MOST_VALUES = 100_000


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """YAML in which a key that stands twice is a mistake, and not the last of both values; and which ends although
    aliases of aliases may let a short file stand for endless values."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._n_values = dict[int, int]()

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node:
        is_alias, mark = self.check_event(yaml.AliasEvent), self.peek_event().start_mark
        node = super().compose_node(parent, index)
        if is_alias and id(node) not in self._n_values:
            raise yaml.composer.ComposerError(problem="an alias stands for itself", problem_mark=mark)
        if not is_alias:
            inner = node.value if isinstance(node, yaml.SequenceNode) else ()
            if isinstance(node, yaml.MappingNode):
                inner = itertools.chain.from_iterable(node.value)
            # An alias is the node that it stands for, so its values count again.
            self._n_values[id(node)] = 1 + sum(self._n_values[id(each)] for each in inner)
        if self._n_values[id(node)] > MOST_VALUES:
            raise yaml.composer.ComposerError(
                problem=f"it stands for more than {MOST_VALUES:,} values", problem_mark=node.start_mark
            )
        return node

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


def read_yaml(file: Path) -> Any:
    """The content of a file of YAML, as plain values.

    Raises:
        UsageError: it is too large, not YAML, or no text; names the file and the line.
    """
    if file.stat().st_size > MOST_BYTES:
        raise UsageError(f"{file} has more than {MOST_BYTES:,} bytes, so it is no list of cells.")
    try:
        return yaml.load(file.read_text(encoding="utf-8"), _Loader)
    # A ValueError is an impossible date; deep nesting ends Python's recursion.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise not_yaml(file, error) from error


def not_yaml(file: Path, error: Exception) -> UsageError:
    """A file that cannot be read, with the line and what is wrong with it."""
    return UsageError(f"{file} is not YAML: {_slip(error)}.")


def _slip(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "its text is not UTF-8; save it as UTF-8"
    if not isinstance(error, yaml.MarkedYAMLError):
        return " ".join(str(error).split())
    mark, problem = error.problem_mark, " ".join((error.problem or str(error)).split())
    # PyYAML has words of its parser for two slips that are frequent.
    if "'\\t'" in problem:
        problem = "a tab stands where blanks indent"
    elif "flow" in str(error.context) and error.context_mark is not None:
        mark, problem = error.context_mark, "a bracket opens that does not close"
    return problem if mark is None else f"line {mark.line + 1}: {problem}"
