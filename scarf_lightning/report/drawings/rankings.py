"""Mean ranks, and whether they differ."""

import math

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...errors import UsageError, counted
from ..blocks import Block, Paragraph, Picture, named, table
from ..competitors import Competitors
from ..report_options import ReportOptions
from ..statistics import (
    Ranking,
    friedman_test,
    rank_competitors,
    wilcoxon_cliques,
    wilcoxon_tests,
)
from ..statistics.ranks import Cliques
from ..style import PAGE, new_figure, short, styled

LINE = 0.2
"""Between names of the diagram, in inches."""


def rank_blocks(found: Competitors, options: ReportOptions, name: str) -> list[Block]:
    """Mean ranks with Friedman's test, the critical-difference diagram, and pairwise tests."""
    try:
        ranking = rank_competitors(found.scores, found.names)
    except UsageError as error:
        return [Paragraph(f"Not ranked: {error}")]
    blocks: list[Block] = []
    if ranking.left_out:
        lacking = [f"{dataset} ({', '.join(names)})" for dataset, names in ranking.left_out.items()]
        what = f"{counted(len(lacking), 'dataset')} not ranked, for want of a competitor: {named(lacking)}."
        blocks.append(Paragraph(what, warns=True))
    datasets = len(ranking.ranks)
    if len(ranking.mean_ranks) < 3:
        return [*blocks, _pairwise_table(ranking, name)] if datasets > 1 else blocks
    if datasets < 2:
        blocks.append(Paragraph("Ranks are compared over datasets, and here all competitors meet on one alone."))
        return blocks
    blocks += [_diagram(ranking, options, name), _rank_table(ranking, name), _pairwise_table(ranking, name)]
    return blocks


def friedman_words(ranking: Ranking) -> str:
    """Friedman's test in words; nothing for fewer than three competitors."""
    if ranking.ranks.shape[1] < 3:
        return ""
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
    frame = pd.DataFrame(
        {
            "competitor": list(ranking.mean_ranks.index),
            "mean rank": ranking.mean_ranks.to_numpy(),
            "best on": [int((ranking.ranks[c] == ranking.ranks.min(axis=1)).sum()) for c in ranking.mean_ranks.index],
            "datasets": np.full(len(ranking.mean_ranks), len(ranking.ranks)),
        }
    )
    return table(
        f"{name}-ranks", f"Mean ranks, 1 is best.{friedman_words(ranking)}", frame, formats={"mean rank": ".2f"}
    )


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
    """Competitors along an axis of mean ranks, best to the left; a bar joins those that do not differ."""
    names, ranks = list(mean_ranks.index), mean_ranks.to_numpy(float)
    low, high = math.floor(ranks.min()), math.ceil(ranks.max())
    high = max(high, low + 1)
    half = math.ceil(len(names) / 2)
    depth = 0.35 + 0.16 * len(cliques)
    height = 0.55 + depth + LINE * half
    figure, (axes,) = new_figure(PAGE * 0.8, height)
    axes.set_axis_off()
    axes.plot([low, high], [0, 0], color="black", lw=0.8)
    for tick in range(low, high + 1):
        axes.plot([tick, tick], [0, 0.08], color="black", lw=0.8)
        axes.text(tick, 0.12, str(tick), ha="center", va="bottom")
    margin = 0.06 * (high - low)
    for i, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        left = i < half
        y = -depth - LINE * (i if left else len(names) - 1 - i)
        end = low - margin if left else high + margin
        axes.plot([rank, rank, end], [0, y, y], color="black", lw=0.7)
        shift = -margin / 4 if left else margin / 4
        axes.text(end + shift, y, f"{short(name)}  {rank:.2f}", ha="right" if left else "left", va="center")
    for level, clique in enumerate(cliques):
        ends = mean_ranks[list(clique)]
        y = -0.14 - 0.16 * level
        reach = 0.012 * (high - low)
        axes.plot([ends.min() - reach, ends.max() + reach], [y, y], color="black", lw=3, solid_capstyle="butt")
    axes.set_ylim(-depth - LINE * (half - 1) - 0.15, 0.35)
    axes.set_xlim(low - margin, high + margin)
    return figure
