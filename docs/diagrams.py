"""The diagrams of the pages, drawn as SVG: `python docs/diagrams.py` writes them into ``docs/``.

`SCARF` shows a step of pre-training and what becomes of the encoder; `CELL` the way of a cell from a command to a page;
`house` the rooms of the package, from its imports. All are boxes on a grid with arrows between them. Colours suit a
light and a dark page.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

FOLDER = Path(__file__).parent
BOX, GAP, LINE, MARGIN = (190, 72), (56, 34), 17, 12
"""Width and height of a box, the spaces between boxes, the height of a line of text, and the margin, in pixels."""
LETTER = 6.6
"""The mean width of a letter, in pixels; a line of text must fit its box."""
FONT = "font-family='Helvetica, Arial, sans-serif' font-size='13'"
COLOURS = {"data": "#dbe9f6", "network": "#fde3cd", "result": "#d9efdc", "step": "#ececec"}
INK = "#2b2b2b"


@dataclass(frozen=True)
class Box:
    """A box of a diagram.

    Attributes:
        lines: of text, the first one bold.
        column, row: its place on the grid; halves are between two places.
        kind: of its colour.
    """

    lines: tuple[str, ...]
    column: float
    row: float
    kind: str

    @property
    def left(self) -> float:
        return MARGIN + self.column * (BOX[0] + GAP[0])

    @property
    def top(self) -> float:
        return MARGIN + self.row * (BOX[1] + GAP[1])

    @property
    def middle(self) -> tuple[float, float]:
        return self.left + BOX[0] / 2, self.top + BOX[1] / 2

    def svg(self) -> str:
        """The box with its text in the middle."""
        x, y = self.middle
        first = y - LINE * (len(self.lines) - 1) / 2
        parts = [
            f"<rect x='{self.left:g}' y='{self.top:g}' width='{BOX[0]}' height='{BOX[1]}' rx='8' "
            f"fill='{COLOURS[self.kind]}' stroke='{INK}'/>"
        ]
        for number, line in enumerate(self.lines):
            weight = "bold" if number == 0 else "normal"
            parts.append(
                f"<text x='{x:g}' y='{first + number * LINE:g}' text-anchor='middle' dominant-baseline='central' "
                f"font-weight='{weight}' fill='{INK}' {FONT}>{escape(line)}</text>"
            )
        return "\n".join(parts)


@dataclass(frozen=True)
class Diagram:
    """Boxes by name, and arrows between them.

    Attributes:
        title: for readers who do not see it.
        boxes: by the names that arrows have.
        arrows: pairs of names.
    """

    title: str
    boxes: dict[str, Box]
    arrows: Sequence[tuple[str, str]]

    def svg(self) -> str:
        """The whole picture."""
        right = max(box.left for box in self.boxes.values()) + BOX[0] + MARGIN
        bottom = max(box.top for box in self.boxes.values()) + BOX[1] + MARGIN
        parts = [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {right:g} {bottom:g}' role='img'>",
            f"<title>{escape(self.title)}</title>",
            "<defs><marker id='head' viewBox='0 0 10 10' refX='9' refY='5' markerWidth='7' markerHeight='7' "
            "orient='auto'><path d='M 0 0 L 10 5 L 0 10 z' fill='#808080'/></marker></defs>",
        ]
        for start, end in self.arrows:
            parts.append(arrow(self.boxes[start], self.boxes[end]))
        for box in self.boxes.values():
            parts.append(box.svg())
        return "\n".join([*parts, "</svg>"]) + "\n"


def arrow(start: Box, end: Box) -> str:
    """An arrow from the edge of one box to that of another: sideways, or down or up where one is above the other."""
    (x1, y1), (x2, y2) = start.middle, end.middle
    if end.column >= start.column + 1:
        x1, x2 = start.left + BOX[0], end.left
    elif end.column <= start.column - 1:
        x1, x2 = start.left, end.left + BOX[0]
    elif end.row > start.row:
        y1, y2 = start.top + BOX[1], end.top
    else:
        y1, y2 = start.top, end.top + BOX[1]
    ends = f"x1='{x1:g}' y1='{y1:g}' x2='{x2:g}' y2='{y2:g}'"
    return f"<line {ends} stroke='#808080' stroke-width='2' marker-end='url(#head)'/>"


SCARF = Diagram(
    "A step of SCARF: a row and a corrupted copy of it pass through the encoder f and the head g, and a loss pulls the "
    "two together. Afterwards f starts the training of a classifier h on the labelled rows.",
    {
        "row": Box(("a row x", "no label needed"), 0, 0, "data"),
        "corrupted": Box(("a corrupted copy", "60 % of its values are", "those of other rows"), 0, 1, "data"),
        "f": Box(("encoder f", "four layers of 256"), 1, 0, "network"),
        "f again": Box(("the same f",), 1, 1, "network"),
        "g": Box(("head g", "two layers"), 2, 0, "network"),
        "g again": Box(("the same g",), 2, 1, "network"),
        "loss": Box(("InfoNCE loss", "a row is nearer to its copy", "than to copies of others"), 3, 0.5, "step"),
        "labelled": Box(("labelled rows",), 0, 2, "data"),
        "start": Box(("f as pre-trained", "is trained further"), 1, 2, "network"),
        "h": Box(("classifier h",), 2, 2, "network"),
        "classes": Box(("cross-entropy",), 3, 2, "step"),
    },
    [
        ("row", "f"), ("f", "g"), ("g", "loss"),
        ("row", "corrupted"), ("corrupted", "f again"), ("f again", "g again"), ("g again", "loss"),
        ("labelled", "start"), ("f again", "start"), ("start", "h"), ("h", "classes"),
    ],
)  # fmt: skip
"""The method, from a row to a classifier."""

CELL = Diagram(
    "The way of a cell: a command is composed into cells; a plan says what is left to train; each cell reads its "
    "table, draws its splits, pre-trains or takes a kept pre-training, fine-tunes and is measured; a report compares "
    "cells.",
    {
        "command": Box(("a command", "scarf train pretrain=..."), 0, 0, "step"),
        "cells": Box(("cells", "Hydra composes each,", "and all are checked"), 1, 0, "step"),
        "plan": Box(("a plan", "finished cells are skipped,", "the others have a cost"), 2, 0, "step"),
        "table": Box(("the table", "read, typed and hashed"), 0, 1, "data"),
        "splits": Box(("trials", "rows that train, validate", "and test"), 1, 1, "data"),
        "pretrained": Box(("pre-training", "or one that is kept", "from another cell"), 2, 1, "network"),
        "finetuned": Box(("fine-tuning", "or another library's model"), 3, 1, "network"),
        "store": Box(("results", "metrics, predictions, curves", "under a fingerprint"), 3, 2, "result"),
        "report": Box(("a report", "answers with intervals,", "figures and tables"), 2, 2, "result"),
        "model": Box(("a model", "that predicts new rows"), 1, 2, "result"),
    },
    [
        ("command", "cells"), ("cells", "plan"), ("plan", "pretrained"),
        ("table", "splits"), ("splits", "pretrained"), ("pretrained", "finetuned"),
        ("finetuned", "store"), ("store", "report"), ("report", "model"),
    ],
)  # fmt: skip
"""The way from a command to a page and a model."""

DIAGRAMS = {"scarf.svg": SCARF, "cell.svg": CELL}
"""The diagrams that are drawn by hand, by the name of their file."""


def house() -> Diagram:
    """The rooms of the package in the layers of ``pyproject.toml``; arrows are imports that no other two imply."""
    # With the linter that holds the layers, which only `make docs` and `make check` need.
    import grimp

    project = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    graph = grimp.build_graph("scarf_lightning", exclude_type_checking_imports=True, cache_dir=None)
    folders = {module.rpartition(".")[0].removeprefix("scarf_lightning.") for module in graph.modules}
    rows = [[name for name in layer.split(" | ") if name in folders] for layer in layers]
    rows = [row for row in rows if row]
    widest = max(map(len, rows))
    boxes = {
        name: Box((name,), (widest - len(row)) / 2 + column, position, "step")
        for position, row in enumerate(rows)
        for column, name in enumerate(row)
    }
    arrows, below = [], dict[str, set[str]]()
    for name in reversed(boxes):
        used = [
            other
            for other in boxes
            if boxes[other].row > boxes[name].row
            and graph.direct_import_exists(
                importer=f"scarf_lightning.{name}", imported=f"scarf_lightning.{other}", as_packages=True
            )
        ]
        implied = {further for other in used for further in below[other]}
        arrows += [(name, other) for other in used if other not in implied]
        below[name] = implied.union(used)
    return Diagram("The rooms of the package: each imports those that its arrows lead to.", boxes, arrows)


def write() -> None:
    """Write every diagram."""
    for name, diagram in {**DIAGRAMS, "house.svg": house()}.items():
        (FOLDER / name).write_text(diagram.svg(), encoding="utf-8")


if __name__ == "__main__":
    write()
