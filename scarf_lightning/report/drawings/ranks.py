"""Mean ranks, whether they differ, and whether they would stay."""

import math

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...errors import UsageError
from ..blocks import Block, Paragraph, Picture, counted, named
from ..competitors import Competitors
from ..options import Options
from ..statistics import (
    Ranking,
    friedman_test,
    nemenyi_cliques,
    nemenyi_critical_difference,
    rank_competitors,
    rank_stability,
    wilcoxon_cliques,
    wilcoxon_tests,
)
from ..statistics.cliques import Cliques
from ..style import PAGE, colour, new_figure, short, styled
from ..tables import table

DRAWS = 100
LINE = 0.2
"""Between names of the diagram, in inches."""


def rank_blocks(found: Competitors, options: Options, name: str) -> list[Block]:
    """Mean ranks with Friedman's test, the critical-difference diagram, pairwise tests, and stability."""
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
    if datasets < 2:
        blocks.append(Paragraph("Ranks are compared over datasets, and here all competitors meet on one alone."))
        return blocks
    blocks += [_diagram(ranking, options, name), _rank_table(ranking, name), _pairwise_table(ranking, name)]
    stability = rank_stability(found.scores, found.names, draws=DRAWS)
    if len(stability):
        worst = stability.groupby("drawn")["tau"].min()
        words = "; ".join(f"at least {tau:.2f} when {drawn} are drawn" for drawn, tau in worst.items())
        blocks.append(
            Picture(
                f"{name}-stability",
                stability_lines(stability),
                alt=f"Agreement of the order in subsets with the order of everything: {words}.",
                caption="Are these trials enough? The order of competitors by mean rank in random subsets of trials "
                f"and of datasets, beside that of everything ({DRAWS} subsets of each size).",
            )
        )
    return blocks


def friedman_words(ranking: Ranking) -> str:
    """Friedman's test in words; nothing for fewer than three competitors."""
    if ranking.ranks.shape[1] < 3:
        return ""
    result = friedman_test(ranking)
    return f" Friedman's chi-squared {result.statistic:.1f}, p = {result.p:.2g}."


def _diagram(ranking: Ranking, options: Options, name: str) -> Picture:
    distance = None
    if options.nemenyi:
        cliques = nemenyi_cliques(ranking, alpha=options.alpha)
        distance = nemenyi_critical_difference(ranking.ranks.shape[1], len(ranking.ranks), options.alpha)
        joined = f"within Nemenyi's critical difference, {distance:.3f}"
    else:
        cliques = wilcoxon_cliques(ranking, alpha=options.alpha)
        joined = f"which Wilcoxon's signed-rank test with Holm's correction does not part at p < {options.alpha:g}"
    order = ", ".join(f"{name} {rank:.2f}" for name, rank in ranking.mean_ranks.items())
    groups = "; ".join(" and ".join(clique) for clique in cliques) or "nobody"
    return Picture(
        f"{name}-ranks",
        critical_difference(ranking.mean_ranks, cliques, distance=distance),
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
def critical_difference(mean_ranks: "pd.Series[float]", cliques: Cliques, *, distance: float | None = None) -> Figure:
    """Competitors along an axis of mean ranks, best to the left; a bar joins those that do not differ.

    Args:
        mean_ranks: best first.
        cliques: groups to join.
        distance: Nemenyi's critical difference, drawn above the axis where the groups are its.
    """
    names, ranks = list(mean_ranks.index), mean_ranks.to_numpy(float)
    low, high = math.floor(ranks.min()), math.ceil(ranks.max())
    high = max(high, low + 1)
    half = math.ceil(len(names) / 2)
    depth = 0.35 + 0.16 * len(cliques)
    height = 0.55 + depth + LINE * half + (0.3 if distance else 0)
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
    top = 0.35
    if distance is not None:
        top = 0.65
        axes.plot([low, low + distance], [0.42, 0.42], color="black", lw=0.8, marker="|")
        axes.text(low + distance / 2, 0.46, f"critical difference {distance:.2f}", ha="center", va="bottom")
    axes.set_ylim(-depth - LINE * (half - 1) - 0.15, top)
    axes.set_xlim(low - margin, high + margin)
    return figure


@styled()
def stability_lines(stability: pd.DataFrame) -> Figure:
    """Kendall's tau with the order of everything, down to its 5 % quantile, and how often the best stays the best.

    Args:
        stability: as `rank_stability` returns it.
    """
    panels = [drawn for drawn in ("trials", "datasets") if (stability["drawn"] == drawn).any()]
    figure, axes = new_figure(PAGE * 0.4 + PAGE * 0.4 * (len(panels) - 1), 2.3, 1, len(panels), sharey=True)
    for place, drawn in zip(axes, panels, strict=True):
        part = stability[stability["drawn"] == drawn]
        place.fill_between(part["size"], part["tau_low"], part["tau"], color=colour(0), alpha=0.2, lw=0)
        place.plot(part["size"], part["tau"], color=colour(0), marker="o", ms=3, label="Kendall's tau (down to 5 %)")
        place.plot(
            part["size"], part["best_stays"], color=colour(1), marker="s", ms=3, ls="--", label="best stays best"
        )
        place.axhline(1, color="black", lw=0.5, zorder=0)
        place.set_xscale("log")
        place.set_xticks(part["size"].to_list(), [str(size) for size in part["size"]])
        place.minorticks_off()
        place.set_xlabel(f"{drawn} drawn")
    axes[0].set_ylabel("agreement with everything")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    return figure
