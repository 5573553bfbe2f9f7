"""What a user should know of how data were read, and the option that does otherwise."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Advice:
    """A sentence that names an option. Each surface words the option as its users set it.

    Attributes:
        said: what was found, without a full stop.
        option: what changes it, such as ``dataset.text``.
        value: of the option; a list if the option takes one.
        effect: what the option then does, as in ``reads it as text``.
    """

    said: str
    option: str
    value: str | list[str]
    effect: str

    def __str__(self) -> str:
        value = self.value if isinstance(self.value, str) else f"[{', '.join(self.value)}]"
        return f"{self.said}; {self.option}={value} {self.effect}."

    @property
    def in_python(self) -> str:
        """The sentence with the option as an estimator's parameter."""
        options: Mapping[str, Any] = {self.option: self.value}
        return f"{self.said}; options={options} {self.effect}."


Note = str | Advice


def about(column: str, note: Note) -> Note:
    """A note on a column as a sentence that names the column."""
    if isinstance(note, Advice):
        return replace(note, said=f"Column {column!r}: {note.said}")
    return f"Column {column!r}: {note}."
