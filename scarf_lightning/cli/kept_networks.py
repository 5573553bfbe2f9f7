"""The section of a report on the columns that kept networks use.

A cell that was trained with ``keep_weights=true`` has its networks beside its results. Each column is permuted in the
test rows of each trial, and passed through the network of that trial.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import UsageError
from ..report.blocks import Block, Paragraph, Section
from ..report.competitors import named_cells
from ..report.loading import CellResults
from ..results import read_cell
from ..results.records import WEIGHTS

NAME = "kept-networks"
MOST_CELLS = 6
"""Cells of which a report shows the columns."""


def kept_networks_section(results: CellResults, metric: str, plugins: Sequence[str]) -> Section | None:
    """The importance of columns to the networks of each finished cell that has kept them; None if none has.

    Args:
        results: of the report.
        metric: its name.
        plugins: modules that are imported already.
    """
    finished = results.cells[results.cells["finished"] > 0]
    names = dict(zip(finished.index, named_cells(results, finished), strict=True))
    # Most folders have no networks, and torch is imported only if one has.
    kept: list[tuple[str, Path]] = []
    for label, name in names.items():
        folder = results.folders.get(int(label))
        if folder is not None and has_networks(folder):
            kept.append((name, folder))
    if not kept:
        return None
    blocks: list[Block] = [
        Paragraph(
            "In the test rows of each trial the column is permuted, so that it tells nothing, and the kept network of "
            "that trial predicts them. A column that another one can stand in for matters here if networks use it."
        )
    ]
    for name, folder in kept[:MOST_CELLS]:
        blocks += _of_cell(name, folder, metric, plugins)
    if len(kept) > MOST_CELLS:
        others = ", ".join(name for name, _ in kept[MOST_CELLS:])
        blocks.append(Paragraph(f"Not shown, to keep the page short: {others}. importance_of_cell(FOLDER) has them."))
    return Section(NAME, "Which columns kept networks use", blocks)


def has_networks(folder: Path) -> bool:
    """True if a finished trial of a cell has kept its network."""
    return any(WEIGHTS in stack["files"] for stack in read_cell(folder).stacks.values())


def _of_cell(name: str, folder: Path, metric: str, plugins: Sequence[str]) -> list[Block]:
    """The blocks of one cell. Data that have changed, or a damaged network, become a warning."""
    # Imports torch.
    from ..estimators.importance import importance_of_cell
    from ..importance.advising import on_use
    from ..importance.page import together, way_blocks

    try:
        importance = importance_of_cell(folder, metric=metric, plugins=plugins)
    # The other sections of the page need neither the data nor the networks.
    except UsageError as error:
        return [Paragraph(f"{name}: the columns that its networks use cannot be shown. {error}", warns=True)]
    # On this page the cell has another name than by itself.
    named = [replace(each, competitor=name) for each in importance.verdicts]
    importance = replace(importance, verdicts=named)
    return [
        Paragraph(on_use(importance, name)),
        *way_blocks(importance, "permuted", f"{NAME}-{folder.name}"),
        Paragraph(together(importance)),
    ]
