"""Gains said in labels: how many times the labels the reference needs for the metric of each competitor."""

from collections.abc import Sequence

import pandas as pd

from ..metrics import Metric
from ..verdicts.effects import Effect
from ..verdicts.worth import REACH, Worth, worth_sentences
from .blocks import Table, table
from .names import labels_in_words

MOST_SAID = 6
"""Worths that a page's answer says; its table has all."""

Valued = tuple[Effect, Worth]


def worth_in_words(valued: Sequence[Valued]) -> list[str]:
    """A sentence on each of the first worths, at most `MOST_SAID`."""
    return worth_sentences(valued)[:MOST_SAID]


def worth_table(valued: Sequence[Valued], metric: Metric) -> Table:
    """The worth of each competitor at each number of labels."""
    rows, data = [], []
    for comparison, worth in valued:
        rows.append((comparison.what, _at(comparison), worth.times, worth.ends or None))
        data.append({"competitor": comparison.what, "reference": comparison.reference} | vars(worth))
    shown = pd.DataFrame(rows, columns=["competitor", "labels", "times the labels", "95 % interval"])
    caption = (
        f"Worth in labels: how many times the labels the reference needs for the same {metric.label}, by its learning "
        "curve, straight in the logarithm of the labels. Beyond its ends the curve is continued to "
        f"{REACH:g} times the most labels and to one part in {REACH:g} of the fewest; curves flatten, so a gain there "
        "is worth rather more"
    )
    return table("worth", caption, shown, data=pd.DataFrame(data))


def _at(comparison: Effect) -> str:
    """The number of labels, without the word."""
    return labels_in_words(comparison.labels or 0).removesuffix(" labels")
