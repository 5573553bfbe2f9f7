"""How large improvements are: probability of improvement and mean relative gain, with bootstrap intervals."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from ...errors import UsageError
from ..statistics import BootstrapInterval, Pair, mean_relative_gain, probability_of_improvement
from ..tables import Shown, Table, number, shown

RESAMPLES = 1000
MEASURES = {
    "P(improvement)": (probability_of_improvement, ".3f"),
    "mean gain, %": (mean_relative_gain, "+.2f"),
}
OVERS = ("trials", "both")


def effect_table(scores: pd.DataFrame, pairs: Sequence[Pair], name: str) -> Table:
    """Each pair's two measures with their intervals over trials, and over datasets and trials."""
    rows: list[tuple[Shown, ...]] = []
    data: list[dict[str, Any]] = []
    by_competitor = dict(list(scores.groupby("competitor")))
    for competitor, reference in pairs:
        entries = [shown(competitor), shown(reference)]
        both = pd.concat([by_competitor[competitor], by_competitor[reference]])
        for measure, (function, digits) in MEASURES.items():
            intervals: list[BootstrapInterval] = []
            try:
                intervals = [function(both, competitor, reference, over=o, resamples=RESAMPLES) for o in OVERS]  # type: ignore[arg-type]
            except UsageError:  # no dataset in common
                entries += [shown(None)] * 3
                continue
            entries.append(shown(intervals[0].estimate, digits))
            for over, found in zip(OVERS, intervals, strict=True):
                entries.append(Shown(f"{number(found.low, digits)} to {number(found.high, digits)}", found.low))
                named = {"competitor": competitor, "reference": reference, "measure": measure, "resampled": over}
                data.append(named | asdict(found) | {"left_out": " ".join(map(str, found.left_out))})
        rows.append(tuple(entries))
    headings = [
        f"{measure}{ending}" for measure in MEASURES for ending in ("", ", over trials", ", over datasets and trials")
    ]
    return Table(
        f"{name}-effects",
        "P(improvement), the probability that a random trial of the competitor beats one of the reference on the same "
        "dataset, and mean relative gain over all datasets, with 95 % bootstrap intervals "
        f"({RESAMPLES} resamples) over trials, and over datasets and trials",
        ("competitor", "reference", *headings),
        tuple(rows),
        pd.DataFrame(data),
    )
