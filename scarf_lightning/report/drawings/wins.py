"""Win matrices in both of the paper's forms, and how sure their wins are."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...errors import UsageError
from ..figures import heat_map
from ..options import Options
from ..reading import Material
from ..sections import Block, Paragraph, Picture, counted, named
from ..selecting import Scored, as_list, grid_over_reference, scored, select
from ..statistics import Pair, WinMatrix, reference_win_matrix, surviving_wins, win_matrix
from ..tables import Table, table
from .effects import effect_table
from .ranks import rank_blocks

LONGEST_PAIRS = 45
"""Pairs of competitors of which it is said how many wins survive each test: those of ten competitors."""


def win_matrix_blocks(material: Material, drawing: dict[str, Any], options: Options, name: str) -> list[Block]:
    """Competitors against each other: heat map, what survives stricter tests, ranks."""
    columns = as_list(drawing["compare"])
    found = scored(material, select(material, drawing.get("where")), columns)
    if len(found.competitors) < 2:
        raise UsageError(f"Only {found.competitors[0]} has a finished trial, and so nothing to be compared with.")
    matrix = win_matrix(found.scores, found.competitors, test=options.test, alpha=options.alpha, adjust=options.adjust)
    title = " + ".join(columns)
    blocks: list[Block] = [
        Picture(
            name,
            heat_map(matrix, row_title=title, column_title=f"against {title}"),
            alt=f"Win matrix of {counted(len(found.competitors), 'competitor')}. {minima(matrix)}",
            caption=f"Wins over wins and losses of the row against the column, by datasets ({options.in_words}); "
            "last, the least ratio of each row.",
        ),
        *_missing(matrix, found),
    ]
    pairs = [(a, b) for i, a in enumerate(found.competitors) for b in found.competitors[i + 1 :]]
    if 0 < len(pairs) <= LONGEST_PAIRS:
        blocks.append(survival_table(found.scores, pairs, options, name))
    return blocks + rank_blocks(found, options, name)


def wins_over_reference_blocks(material: Material, drawing: dict[str, Any], options: Options, name: str) -> list[Block]:
    """Each row with each column against the same row with the reference column."""
    rows, columns = as_list(drawing["rows"]), as_list(drawing["columns"])
    reference = str(drawing["reference"])
    cells = select(material, drawing.get("where"))
    found = scored(material, cells, [*rows, *columns])
    grid, alone = grid_over_reference(cells, rows, columns, reference)
    grid = {place: pair for place, pair in grid.items() if not set(pair) & set(found.empty)}
    if not grid:
        return [Paragraph(f"Nothing is finished that could be compared with {reference}.", warns=True)]
    matrix = reference_win_matrix(found.scores, grid, test=options.test, alpha=options.alpha, adjust=options.adjust)
    title = " + ".join(rows)
    blocks: list[Block] = [
        Picture(
            name,
            heat_map(matrix, row_title=title, column_title=f"{' + '.join(columns)}, against {reference}"),
            alt=f"Wins of each {title} with {' and '.join(columns)} over the same with {reference}. {minima(matrix)}",
            caption=f"Wins over wins and losses against the same {title} with {reference}, by datasets "
            f"({options.in_words}); last, the least ratio of each row.",
        ),
        *_missing(matrix, found),
    ]
    if alone:
        blocks.append(Paragraph(f"Without a reference, and left out: {named(alone)}.", warns=True))
    pairs = list(grid.values())
    blocks.append(survival_table(found.scores, pairs, options, name))
    blocks.append(effect_table(found.scores, pairs, name))
    return blocks


def minima(matrix: WinMatrix) -> str:
    """The column of minima in words."""
    words = [
        f"{row}: {least['wins']}/{least['decided']} against {least['column']}"
        for row, least in matrix.minimum.iterrows()
        if least["column"] is not None
    ]
    return f"Least ratio of each row: {named(words)}." if words else "No dataset is decided."


def survival_table(scores: pd.DataFrame, pairs: Sequence[Pair], options: Options, name: str) -> Table:
    """Wins and losses of each pair by every test, without and with Holm's correction."""
    survivors = surviving_wins(scores, pairs, alpha=options.alpha)
    order = {pair: place for place, pair in enumerate(pairs)}
    places = [order[pair] for pair in zip(survivors["competitor"], survivors["reference"], strict=True)]
    survivors = survivors.iloc[np.argsort(places, kind="stable")].reset_index(drop=True)
    survivors["outcome"] = survivors["wins"].astype(str) + "–" + survivors["losses"].astype(str)
    survivors["by"] = survivors["test"] + survivors["adjusted"].map({True: ", Holm", False: ""})
    wide = survivors.pivot_table(
        index=["competitor", "reference"], columns="by", values="outcome", aggfunc="first", sort=False
    ).reset_index()
    shown = table(
        f"{name}-surviving-wins",
        f"Wins–losses that survive each test at p < {options.alpha:g}: Welch's, paired over trials, and Nadeau and "
        "Bengio's correction of it, each without and with Holm's correction over datasets",
        wide,
    )
    data = survivors.drop(columns=["outcome", "by"])
    return Table(shown.name, shown.caption, shown.columns, shown.rows, data)


def _missing(matrix: WinMatrix, found: Scored) -> list[Block]:
    blocks: list[Block] = []
    if found.empty:
        blocks.append(Paragraph(f"Without any finished trial, and left out: {named(found.empty)}.", warns=True))
    lacking = [
        f"{dataset} {competitor} ({trials} of {expected} trials)"
        for dataset, competitor, trials, expected in matrix.incomplete.itertuples(index=False)
    ]
    if lacking:
        text = f"{counted(len(lacking), 'cell')} of this drawing with fewer trials than the fullest: {named(lacking)}."
        blocks.append(Paragraph(text, warns=True))
    return blocks
