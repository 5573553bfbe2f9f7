"""Mean ranks, whether they differ, and whether they would stay."""

import numpy as np
import pandas as pd

from ..figures import critical_difference, stability_lines
from ..options import Options
from ..sections import Block, Paragraph, Picture, counted, named
from ..selecting import Scored
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
from ..tables import table

DRAWS = 100


def rank_blocks(found: Scored, options: Options, name: str) -> list[Block]:
    """Mean ranks with Friedman's test, the critical-difference diagram, pairwise tests, and stability."""
    ranking = rank_competitors(found.scores, found.competitors)
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
    stability = rank_stability(found.scores, found.competitors, draws=DRAWS)
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
