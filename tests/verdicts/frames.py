"""Small frames of scores, by hand, at random, and from the paper."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from paper.published import published_accuracy
from scarf_lightning.verdicts import scores_of

STEP = 1 / 64
"""Random values are multiples of it, so that sums are exact."""


def scores_from(cells: dict[object, dict[str, list[float]]]) -> pd.DataFrame:
    """Scores of {dataset: {competitor: values by trial}}."""
    rows = [
        (dataset, competitor, trial, value)
        for dataset, competitors in cells.items()
        for competitor, values in competitors.items()
        for trial, value in enumerate(values)
    ]
    return pd.DataFrame(rows, columns=["dataset", "competitor", "trial", "value"])


def random_scores(datasets: int, competitors: str, trials: int, seed: int = 0) -> pd.DataFrame:
    """Normal scores; later letters are better, by as much as two trials differ."""
    random = np.random.default_rng(seed)
    return scores_from(
        {
            d: {name: list(random.normal(0.6 + 0.02 * i, 0.02, trials)) for i, name in enumerate(competitors)}
            for d in range(datasets)
        }
    )


def paper_scores(regime: str) -> pd.DataFrame:
    """The paper's means as scores of one trial."""
    published = published_accuracy()
    return scores_of(published[published["regime"] == regime], dataset="dataset_id")


@st.composite
def ragged_scores(draw: st.DrawFn) -> pd.DataFrame:
    """A few datasets, competitors a, b and maybe c, up to four trials; some trials and cells are missing."""
    competitors = "abc"[: draw(st.integers(2, 3))]
    value = st.one_of(st.none(), st.integers(8, 12).map(lambda k: k * STEP))
    cells = {
        dataset: {name: draw(st.lists(value, min_size=1, max_size=4)) for name in competitors}
        for dataset in range(draw(st.integers(1, 4)))
    }
    scores = scores_from(cells).astype({"value": "float64"})
    if scores["value"].isna().all():
        scores.loc[0, "value"] = STEP
    return scores
