"""The columns that a user's options name, and what is wrong with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...errors import UsageError, unknown_name
from ..arguments import argument
from ..columns import listed
from .data_file import NAMELESS, DataFile

MOST_NAMES = 30
"""The most columns that a message names."""
NOT_READ = "neither numbers nor categories nor dates"


@dataclass(frozen=True)
class ColumnOptions:
    """The columns that options name.

    Attributes:
        roles: the one column of ``dataset.target``, ``split.column`` and ``dataset.weight``; None where the option is
            not set.
        lists: the columns of ``dataset.drop`` and other options that take several.
    """

    roles: Mapping[str, str | None]
    lists: Mapping[str, Sequence[str]]

    @property
    def named(self) -> set[str]:
        """All columns that are named."""
        names = set().union(*self.lists.values())
        for column in self.roles.values():
            if column is not None:
                names.add(column)
        return names

    def check(self, file: DataFile) -> None:
        """Refuse options that name what is not a column, or not a feature, or contradict each other."""
        target = self.roles["dataset.target"]
        weight = self.roles["dataset.weight"]
        # Often a file whose separator was not found.
        if file.names == [target]:
            raise UsageError(f"{file.path} has the one column {target!r}, and none to predict it from{file.hint}.")
        if weight and weight == self.roles["split.column"]:
            raise UsageError(f"dataset.weight and split.column both name {weight!r}; choose another column for one.")
        for option, role in self.roles.items():
            if role is not None:
                self._check_column(option, role, file)
        # A column is read in one way.
        first_option: dict[str, str] = {}
        for option, columns in self.lists.items():
            for column in columns:
                self._check_column(option, column, file)
                if column == weight:
                    raise UsageError(f"{option} names {column!r}, which dataset.weight names too; leave it out of one.")
                first = first_option.setdefault(column, option)
                if first != option:
                    raise UsageError(f"column {column!r} is in {first} and {option}; leave it out of one.")
        self._check_usable(file)

    def _check_column(self, option: str, column: str, file: DataFile) -> None:
        """Refuse an option that names no column, or the target where a feature is meant."""
        if column not in file.names:
            names = [name for name in file.names if not NAMELESS.fullmatch(name)]
            fault = f"{option} names {column!r}, which is not a column of {file.path}{file.hint}"
            if not column:
                fault = f"{option} must name a column of {file.path}{file.hint}"
            raise UsageError(unknown_name(fault, column, names, "its columns", shown=repr))
        is_target = column == self.roles["dataset.target"]
        if is_target and option != "dataset.target":
            raise UsageError(f"{option} names the target {column!r}, which is no feature; leave it out.")

    def _check_usable(self, file: DataFile) -> None:
        """Refuse columns that can neither be read nor are left out."""
        dropped = self.lists["dataset.drop"]
        wrong: list[str] = []
        for name, kind in file.unusable.items():
            # To leave a column out does not help where it is needed.
            if name in self.roles.values():
                raise UsageError(
                    f"column {name!r} of {file.path} holds {kind}, which is {NOT_READ}; convert it, or choose another "
                    "column."
                )
            if name not in dropped:
                wrong.append(name)
        if not wrong:
            return
        # The option replaces what it named before.
        way_out = argument("dataset.drop", [*dropped, *wrong])
        kinds = " and ".join(dict.fromkeys(file.unusable[name] for name in wrong))
        if len(wrong) == 1:
            raise UsageError(
                f"column {wrong[0]!r} of {file.path} holds {kinds}, which is {NOT_READ}; convert it, or leave it out "
                f"by {way_out}."
            )
        raise UsageError(
            f"columns {listed(wrong, MOST_NAMES)} of {file.path} hold {kinds}, which are {NOT_READ}; convert them, or "
            f"leave them out by {way_out}."
        )


def spelled(columns: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Columns of an option by their names in the file. A column without a name may also be called by its number, which
    counts from 1, and the only one by the empty text."""
    nameless = {}
    for place, name in enumerate(names, start=1):
        if NAMELESS.fullmatch(name):
            nameless[str(place)] = name
    if len(nameless) == 1:
        nameless[""] = next(iter(nameless.values()))
    found = []
    for column in columns:
        # A column that has a name is called by it alone, also if that is a number.
        if column not in names:
            column = nameless.get(column, column)
        found.append(column)
    return tuple(found)
