"""Texts, tables and pictures of a page, read back from its blocks."""

from collections.abc import Sequence

from scarf_lightning.reporting.answer_sections import answer_sections
from scarf_lightning.reporting.answers import answers_of
from scarf_lightning.reporting.blocks import Block, Paragraph, Picture, Table
from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.reporting.report_options import ReportOptions


def answer_of(results: CellResults, options: ReportOptions | None = None) -> list[Block]:
    """The blocks of a page's answer."""
    sections = answer_sections(answers_of(results, options or ReportOptions()))
    return [block for section in sections for block in section.blocks]


def said(blocks: Sequence[Block]) -> list[str]:
    """The texts of all paragraphs."""
    return [block.text for block in blocks if isinstance(block, Paragraph)]


def tables(blocks: Sequence[Block]) -> list[Table]:
    return [block for block in blocks if isinstance(block, Table)]


def table_named(blocks: Sequence[Block], ending: str) -> Table:
    """The one table whose name ends so."""
    (found,) = [table for table in tables(blocks) if table.name.endswith(ending)]
    return found


def pictures(blocks: Sequence[Block]) -> list[Picture]:
    return [block for block in blocks if isinstance(block, Picture)]


def picture_named(blocks: Sequence[Block], name: str) -> Picture:
    (found,) = [picture for picture in pictures(blocks) if picture.name == name]
    return found


def entries(table: Table) -> list[list[str]]:
    """The texts of a table, line by line."""
    return [[entry.text for entry in row] for row in table.rows]
