"""Wins over a reference: the paper's second win matrix."""

from dataclasses import dataclass

from ..blocks import Block, Paragraph, named
from ..competitors import competing, grid_over_reference, reference_in_words
from ..options import Options
from ..reading import CellResults
from ..statistics import reference_win_matrix
from ..words import columns_in_words
from .base import Drawing
from .win_matrix import heat_map, lacking, matrix_picture, minima, survival_table


@dataclass(frozen=True, kw_only=True)
class WinsOverReference(Drawing):
    """Each row with each column against the same row with the reference column.

    Args:
        rows, columns: columns of the results whose values are the grid's.
        reference: the values of ``columns`` that the others are compared with.
    """

    name = "wins_over_reference"
    rows: list[str]
    columns: list[str]
    reference: str

    def blocks(self, results: CellResults, options: Options, name: str) -> list[Block]:
        cells = self.cells(results)
        found = competing(results, cells, [*self.rows, *self.columns], options.measure)
        grid, alone = grid_over_reference(results, cells, self.rows, self.columns, self.reference)
        grid = {place: pair for place, pair in grid.items() if not set(pair) & set(found.empty)}
        reference = reference_in_words(self.columns, self.reference)
        if not grid:
            return [Paragraph(f"Nothing is finished that could be compared with {reference}.", warns=True)]
        matrix = reference_win_matrix(found.scores, grid, **options.how)
        rows, columns = columns_in_words(self.rows), columns_in_words(self.columns)
        blocks: list[Block] = [
            matrix_picture(
                name,
                heat_map(matrix, row_title=rows, column_title=f"{columns}, against {reference}"),
                alt=f"Wins of each {rows} with {columns} over the same with {reference}. {minima(matrix)}",
                what=f"in {options.measure.label} against the same {rows} with {reference}",
                options=options,
            ),
            *lacking(matrix, found),
        ]
        if alone:
            blocks.append(Paragraph(f"Without a reference, and left out: {named(alone)}.", warns=True))
        return [*blocks, survival_table(found.scores, list(grid.values()), options, name)]
