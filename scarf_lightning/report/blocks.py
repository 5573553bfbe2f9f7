"""What a report is made of: sections of paragraphs, figures and tables."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Paragraph:
    """Words; ``warns`` where they say that something could not be shown."""

    text: str
    warns: bool = False


@dataclass(frozen=True)
class Command:
    """A command to copy, and what it does."""

    command: str
    purpose: str


@dataclass(frozen=True)
class Picture:
    """A figure, with the name of its files, what it shows in words for who cannot see it, its caption, and the same for
    the width of a phone, where the figure does not fit."""

    name: str
    figure: "Figure"
    alt: str
    caption: str
    narrow: "Figure | None" = None

    @property
    def width(self) -> int:
        """In pixels."""
        return round(96 * float(self.figure.get_size_inches()[0]))


Block = Paragraph | Command | Picture | Table


@dataclass(frozen=True)
class Section:
    """A part of the page under one heading."""

    name: str
    title: str
    blocks: list[Block] = field(default_factory=list)


def named(items: list[str], longest: int = 8) -> str:
    """A list in words: the first few of many, and how many more there are; semicolons part what has commas in it."""
    shown = ("; " if any("," in item for item in items[:longest]) else ", ").join(items[:longest])
    return shown if len(items) <= longest else f"{shown} and {len(items) - longest} more"
