"""Win matrices, and mean ranks beside them: wins over wins and losses, by datasets (the paper's section 4)."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...errors import UsageError, counted
from ...verdicts import (
    Pair,
    Ranking,
    WinMatrix,
    friedman_test,
    rank_competitors,
    reference_win_matrix,
    surviving_wins,
    wilcoxon_cliques,
    wilcoxon_tests,
    win_matrix,
)
from ...verdicts.ranks import Cliques
from ..blocks import Block, Paragraph, Picture, Table, named, table
from ..cell_results import CellResults
from ..competitors import Competitors, competing, grid_over_reference
from ..names import columns_in_words, shortened
from ..report_options import ReportOptions
from ..style import PAGE, new_figure, styled
from .drawing import NO_REFERENCE, Drawing, warning

LONGEST_PAIRS = 45
"""Most pairs of competitors that have a table of the wins that survive each test: those of ten competitors."""
COLOUR_MAP = "RdBu"
GAP = 0.35
"""Between the matrix and its column of minima, in cells."""
LINE = 0.2
"""Between names in the diagram of ranks, in inches."""


@dataclass(frozen=True, kw_only=True)
class WinMatrixDrawing(Drawing):
    """Competitors against each other: heat map, what survives stricter tests, ranks.

    Args:
        compare: columns whose values are the competitors.
    """

    name = "win_matrix"
    compare: list[str]

    def blocks(self, results: CellResults, options: ReportOptions, name: str) -> list[Block]:
        competitors = competing(results, self.cells(results), self.compare, options.measure)
        if len(competitors.names) < 2:
            raise UsageError(f"Only {competitors.names[0]} has a finished trial, and so nothing to be compared with.")
        matrix = win_matrix(competitors.scores, competitors.names, **options.how)
        pairs = list(itertools.combinations(competitors.names, 2))
        # A table of more pairs is too long to read, and the matrix counts their wins.
        survivors = None
        if len(pairs) <= LONGEST_PAIRS:
            survivors = survival_table(competitors.scores, pairs, options, name)
        if nothing := without_wins(matrix, survivors, options):
            return [*nothing, *lacking(matrix, competitors), *rank_blocks(competitors, options, name)]
        title = columns_in_words(self.compare)
        blocks: list[Block] = []
        # A matrix of two says in two cells what the table below says.
        if len(competitors.names) > 2:
            picture = matrix_picture(
                name,
                heat_map(matrix, row_title=title, column_title=f"against {title}"),
                alt=f"Win matrix of {counted(len(competitors.names), 'competitor')}. {minima(matrix)}",
                what=f"of the row against the column in {options.measure.label}",
                options=options,
            )
            blocks.append(picture)
        blocks += lacking(matrix, competitors)
        if survivors is not None:
            blocks.append(survivors)
        return blocks + rank_blocks(competitors, options, name)


def matrix_picture(name: str, figure: Figure, *, alt: str, what: str, options: ReportOptions) -> Picture:
    """A heat map with its caption, which says of ``what`` its fractions are."""
    counts = f"by datasets ({options.in_words}); last, the least ratio of each row."
    return Picture(name, figure, alt=alt, caption=f"Wins over wins and losses {what}, {counts}")


@styled()
def heat_map(matrix: WinMatrix, *, row_title: str, column_title: str) -> Figure:
    """Wins over wins and losses in each cell, blue where the row wins and red where it loses, and the row's minimum.

    Cells that compare nothing stay empty; one without a win or a loss says 0/0 on grey.
    """
    n_rows, n_columns = matrix.wins.shape
    rows = list(shortened(matrix.wins.index, 32).values())
    columns = list(shortened(matrix.wins.columns, 32).values())
    # Long names of columns do not fit side by side.
    is_turned = max(map(len, columns)) > 6
    figure, (axes,) = new_figure(*_size_of_heat_map(rows, columns, row_title, column_title))

    ratio, wins, decided = (matrix.ratio.to_numpy(), matrix.wins.to_numpy(), matrix.decided.to_numpy())
    n_compared = (matrix.decided + matrix.ties + matrix.undecided).to_numpy()
    for row, column in np.argwhere(n_compared > 0):
        _cell(axes, column, row, float(ratio[row, column]), f"{wins[row, column]}/{decided[row, column]}")
    minimum: Any = matrix.minimum.to_dict("records")
    for row, least in enumerate(minimum):
        if least["column"] is not None:
            _cell(axes, n_columns + GAP, row, float(least["ratio"]), f"{least['wins']}/{least['decided']}")

    axes.set_xlim(-0.5, n_columns + GAP + 0.5)
    axes.set_ylim(n_rows - 0.5, -0.5)
    axes.set_aspect("equal")
    places = [*range(n_columns), n_columns + GAP]
    names = [*columns, "min"]
    if is_turned:
        axes.set_xticks(places, names, rotation=35, ha="right", rotation_mode="anchor")
    else:
        axes.set_xticks(places, names, rotation=0, ha="center")
    axes.set_yticks(range(n_rows), rows)
    axes.set_xlabel(column_title)
    axes.set_ylabel(row_title)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return figure


def _size_of_heat_map(
    rows: Sequence[str], columns: Sequence[str], row_title: str, column_title: str
) -> tuple[float, float]:
    """Width and height in inches of a heat map with these names and titles."""
    cell = 0.52 if len(columns) <= 8 else 0.42
    # A letter of a name is 0.062 inches wide, one of a title 0.075.
    beside = 0.062 * max(map(len, rows)) + 0.5
    longest = max(map(len, columns))
    # Names that are turned by 35 degrees need 0.7 of their length below the matrix.
    below = 0.5 + (0.062 * longest * 0.7 if longest > 6 else 0.12)
    # Titles of the axes are longer than a small matrix.
    width = max((len(columns) + 1 + GAP) * cell, 0.075 * len(column_title))
    height = max(len(rows) * cell, 0.075 * len(row_title))
    return width + beside, height + below


def _cell(axes: Axes, x: float, y: float, ratio: float, text: str) -> None:
    """A square with a fraction, coloured by its ratio; grey if that is 0/0."""
    face = (0.9, 0.9, 0.9, 1.0)
    if not np.isnan(ratio):
        # The ends of the colour map are too dark to write on.
        face = colormaps[COLOUR_MAP](0.08 + 0.84 * ratio)
    left, right, top, bottom = x - 0.5, x + 0.5, y - 0.5, y + 0.5
    axes.fill([left, right, right, left], [top, top, bottom, bottom], color=face, ec="white", lw=0.8)
    # Weights of red, green and blue in how bright a colour looks (Rec. 709).
    luminance = float(np.dot(face[:3], (0.2126, 0.7152, 0.0722)))
    axes.text(x, y, text, ha="center", va="center", color="black" if luminance > 0.45 else "white", fontsize=6.5)


def minima(matrix: WinMatrix) -> str:
    """The column of minima in words."""
    words = []
    for row, least in matrix.minimum.iterrows():
        if least["column"] is not None:
            words.append(f"{row}: {least['wins']}/{least['decided']} against {least['column']}")
    return f"Least ratio of each row: {named(words)}." if words else "No dataset is decided."


def survival_table(scores: pd.DataFrame, pairs: Sequence[Pair], options: ReportOptions, name: str) -> Table:
    """Wins and losses of each pair by every test, without and with Holm's correction."""
    survivors = surviving_wins(scores, pairs, alpha=options.alpha)
    outcome = survivors["wins"].astype(str) + "–" + survivors["losses"].astype(str)
    by = survivors["test"] + survivors["adjusted"].map({True: ", Holm", False: ""})
    wide = survivors.assign(outcome=outcome, by=by).pivot_table(
        index=["competitor", "reference"], columns="by", values="outcome", aggfunc="first", sort=False
    )
    return table(
        f"{name}-surviving-wins",
        f"Wins–losses that survive each test at p < {options.alpha:g}: Welch's, paired over trials, and Nadeau and "
        "Bengio's correction of it, each without and with Holm's correction over datasets",
        wide.reset_index(),
        data=survivors,
    )


def without_wins(matrix: WinMatrix, survivors: Table | None, options: ReportOptions) -> list[Block]:
    """A sentence in place of a matrix and a table of zeros; empty if a difference is significant by any test."""
    if matrix.decided.to_numpy().any() or matrix.undecided.to_numpy().any():
        return []
    by = f"({options.in_words})"
    if survivors is not None:
        if survivors.data[["wins", "losses"]].to_numpy().any():
            return []
        by = f"at p < {options.alpha:g}, by Welch's test, paired over trials, or with Nadeau and Bengio's correction"
    return [Paragraph(f"No pair of competitors differs on any dataset {by}.")]


def lacking(matrix: WinMatrix, found: Competitors) -> list[Block]:
    """Notes that name the cells that lack trials."""
    cells = []
    for dataset, competitor, trials, expected in matrix.incomplete.itertuples(index=False):
        # Not every competitor of a mixed folder meets every dataset.
        if (dataset, competitor) in found.wanted:
            cells.append(f"{dataset} {competitor} ({trials} of {expected} trials)")
    fewer = f"{counted(len(cells), 'cell')} of this drawing with fewer trials than the fullest"
    return warning("Without any finished trial, and left out", found.empty) + warning(fewer, cells, 3)


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

    def blocks(self, results: CellResults, options: ReportOptions, name: str) -> list[Block]:
        every = grid_over_reference(
            results, self.cells(results), self.rows, self.columns, self.reference, options.measure
        )
        competitors, reference, alone = every.competitors, every.reference, list(every.alone)
        grid = {place: pair for place, pair in every.pairs.items() if not set(pair) & set(competitors.empty)}
        if not grid:
            return [Paragraph(f"Nothing is finished that could be compared with {reference}.", warns=True)]
        matrix = reference_win_matrix(competitors.scores, grid, **options.how)
        rows, columns = columns_in_words(self.rows), columns_in_words(self.columns)
        survivors = survival_table(competitors.scores, list(grid.values()), options, name)
        if nothing := without_wins(matrix, survivors, options):
            return [*nothing, *lacking(matrix, competitors), *warning(NO_REFERENCE, alone)]
        return [
            matrix_picture(
                name,
                heat_map(matrix, row_title=rows, column_title=f"{columns}, against {reference}"),
                alt=f"Wins of each {rows} with {columns} over the same with {reference}. {minima(matrix)}",
                what=f"in {options.measure.label} against the same {rows} with {reference}",
                options=options,
            ),
            *lacking(matrix, competitors),
            *warning(NO_REFERENCE, alone),
            survivors,
        ]


def rank_blocks(found: Competitors, options: ReportOptions, name: str) -> list[Block]:
    """Mean ranks with Friedman's test, the critical-difference diagram, and pairwise tests."""
    try:
        ranking = rank_competitors(found.scores, found.names)
    # Ranks need a dataset on which all have a score, which a sweep that still runs may lack.
    except UsageError as error:
        return [Paragraph(f"Not ranked: {error}")]
    lacking = [f"{dataset} ({', '.join(names)})" for dataset, names in ranking.left_out.items()]
    blocks = warning(f"{counted(len(lacking), 'dataset')} not ranked, for want of a competitor", lacking)
    n_competitors, n_datasets = len(ranking.mean_ranks), len(ranking.ranks)
    if n_datasets < 2:
        # A test over datasets has nothing to test; of two competitors nobody expects ranks.
        if n_competitors > 2:
            blocks.append(Paragraph("Ranks are compared over datasets, and here all competitors meet on one alone."))
        return blocks
    if n_competitors > 2:
        blocks += [_diagram(ranking, options, name), _rank_table(ranking, name)]
    blocks.append(_pairwise_table(ranking, name))
    return blocks


def friedman_words(ranking: Ranking) -> str:
    """Friedman's test in words."""
    result = friedman_test(ranking)
    return f" Friedman's chi-squared {result.statistic:.1f}, p = {result.p:.2g}."


def _diagram(ranking: Ranking, options: ReportOptions, name: str) -> Picture:
    cliques = wilcoxon_cliques(ranking, alpha=options.alpha)
    joined = f"that do not differ (Wilcoxon's signed-rank test with Holm's correction, p < {options.alpha:g})"
    order = ", ".join(f"{name} {rank:.2f}" for name, rank in ranking.mean_ranks.items())
    groups = "; ".join(" and ".join(clique) for clique in cliques) or "nobody"
    return Picture(
        f"{name}-ranks",
        critical_difference(ranking.mean_ranks, cliques),
        alt=f"Critical-difference diagram. Mean ranks: {order}. Joined: {groups}.",
        caption=f"Mean ranks over {counted(len(ranking.ranks), 'dataset')}, 1 is best. Bars join competitors {joined}."
        f"{friedman_words(ranking)}",
    )


def _rank_table(ranking: Ranking, name: str) -> Block:
    """Mean ranks, and on how many datasets each competitor is best."""
    competitors = list(ranking.mean_ranks.index)
    best_ranks = ranking.ranks.min(axis=1)
    best_on = [int((ranking.ranks[competitor] == best_ranks).sum()) for competitor in competitors]
    frame = pd.DataFrame(
        {
            "competitor": competitors,
            "mean rank": ranking.mean_ranks.to_numpy(),
            "best on": best_on,
            "datasets": np.full(len(competitors), len(ranking.ranks)),
        }
    )
    caption = f"Mean ranks, 1 is best.{friedman_words(ranking)}"
    return table(f"{name}-ranks", caption, frame, formats={"mean rank": ".2f"})


def _pairwise_table(ranking: Ranking, name: str) -> Block:
    return table(
        f"{name}-wilcoxon",
        "Wilcoxon's signed-rank test of each pair over datasets (equal means ranked, then dropped: Pratt), and with "
        "Holm's correction over pairs",
        wilcoxon_tests(ranking),
        formats={"p": ".2g", "p_holm": ".2g"},
        headings={"p_holm": "p, Holm"},
    )


@styled()
def critical_difference(mean_ranks: "pd.Series[float]", cliques: Cliques) -> Figure:
    """Competitors along an axis of mean ranks, best to the left; a bar joins those that do not differ.

    The better half has its names to the left of the axis, the other half to the right::

              1    2    3    4
              |----|----|----|
                 =====             bars of cliques
        A ----'  |    |  '---- D
        B -------'    '------- C
    """
    names, ranks = list(mean_ranks.index), mean_ranks.to_numpy(float)
    low = math.floor(ranks.min())
    high = max(math.ceil(ranks.max()), low + 1)
    half = math.ceil(len(names) / 2)
    depth = 0.35 + 0.16 * len(cliques)
    figure, (axes,) = new_figure(PAGE * 0.8, 0.55 + depth + LINE * half)
    axes.set_axis_off()
    axes.plot([low, high], [0, 0], color="black", lw=0.8)
    for tick in range(low, high + 1):
        axes.plot([tick, tick], [0, 0.08], color="black", lw=0.8)
        axes.text(tick, 0.12, str(tick), ha="center", va="bottom")

    margin = 0.06 * (high - low)
    texts = shortened(names, 32)
    for i, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        # Lines must not cross: the outermost ranks of either half stand nearest to the axis.
        if i < half:
            y, end, gap, side = -depth - LINE * i, low - margin, -margin / 4, "right"
        else:
            y, end, gap, side = (-depth - LINE * (len(names) - 1 - i), high + margin, margin / 4, "left")
        axes.plot([rank, rank, end], [0, y, y], color="black", lw=0.7)
        axes.text(end + gap, y, f"{texts[name]}  {rank:.2f}", ha=side, va="center")
    reach = 0.012 * (high - low)
    for level, clique in enumerate(cliques):
        ends = mean_ranks[list(clique)]
        y = -0.14 - 0.16 * level
        axes.plot([ends.min() - reach, ends.max() + reach], [y, y], color="black", lw=3, solid_capstyle="butt")
    axes.set_ylim(-depth - LINE * (half - 1) - 0.15, 0.35)
    axes.set_xlim(low - margin, high + margin)
    return figure
