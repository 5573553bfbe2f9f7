"""The trials of the fourth edition, a row each in trials.parquet: which there must be, and which count."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

FOLDER = Path(__file__).parent
FILE = FOLDER / "trials.parquet"
TRIAL = ["dataset", "labels", "trial"]
N_TRIALS = {20: 10, 50: 10, 100: 5, 500: 5}
"""The trials of a competitor on a table, by the number of labels."""
BUDGETS = tuple(N_TRIALS)
NONE, SCARF, LINEAR, CATBOOST = "no pre-training", "SCARF", "logistic regression", "CatBoost"
PRETRAININGS = (SCARF, "binning", "VIME", "SCARF AE")
NETWORKS = (NONE, *PRETRAININGS)
CONSTANT = "always the commonest answer"
"""The competitor that predicts the class frequencies of a trial's labels, or their mean."""
N_COMPETITORS = 8
"""The networks, a linear model, CatBoost and the constant."""


@dataclass(frozen=True)
class Kind:
    """The parts of a page that depend on the kind of target.

    Attributes:
        targets: as a sentence calls them.
        file: the name of its page and of its figure.
        others: the models in place of the network.
        metrics: columns by the page's names; higher is better. The first one is primary.
        has_bounds: the protocol bounds the networks.
    """

    targets: str
    file: str
    others: tuple[str, str]
    metrics: dict[str, str]
    has_bounds: bool


KINDS = {
    "classes": Kind(
        "classes",
        "page",
        (LINEAR, CATBOOST),
        {
            "AUROC": "auroc",
            "log-loss, hundredths less": "less_log_loss",
            "accuracy": "accuracy",
            "balanced accuracy": "balanced_accuracy",
        },
        has_bounds=True,
    ),
    "number": Kind(
        "numbers",
        "numbers",
        ("ridge regression", CATBOOST),
        {"the rank correlation": "spearman", "RMSE, percent less": "less_rmse", "R2": "r2"},
        has_bounds=False,
    ),
}
"""By the word of tables.csv."""


def read_trials(file: Path = FILE) -> pd.DataFrame:
    """The trials that all competitors have on a table."""
    trials = pd.read_parquet(file)
    n_competitors = trials.groupby(TRIAL)["competitor"].transform("nunique")
    whole = trials[n_competitors == N_COMPETITORS]
    # The RMSE has a unit of each table's own; a difference of logarithms has none.
    return whole.assign(
        labels=whole["labels"].astype(int), less_log_loss=-whole["log_loss"], less_rmse=-np.log(whole["rmse"])
    )


def read_facts() -> pd.DataFrame:
    """The facts of tables.csv on the tables of the study, by the names that trials have."""
    facts = pd.read_csv(FOLDER / "tables.csv")
    facts = facts[facts["left_out"].isna()]
    return facts.assign(table=facts["table"].str.removeprefix("cc18-")).set_index("table")


def unfinished(trials: pd.DataFrame, facts: pd.DataFrame) -> list[str]:
    """The tables of ``facts`` that lack trials."""
    n_trials = trials["dataset"].value_counts().reindex(facts.index, fill_value=0)
    return list(n_trials.index[n_trials != N_COMPETITORS * sum(N_TRIALS.values())])
