"""Trials of the third edition that have not learnt, and those whose probabilities are worth nothing."""

import pandas as pd

CONSTANT = "always the commonest answer"
"""The competitor whose log-loss is that of the class frequencies of a trial's labels."""
TRIAL = ["dataset", "labels", "trial"]


def counts(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials of each competitor with classes at each budget, and those of them that the protocol counts.

    Args:
        trials: of classes and of the constant among them, with ``dataset, labels, competitor, trial, log_loss,
            one_class, n_label_classes``, and ``worse_than_frequencies`` if the release that trained them marks it.

    Returns:
        A row a pair ``(labels, competitor)``: ``trials``; ``one_class``, those that predict one class though their
        labels are of more; ``worse``, those whose log-loss is above that of the class frequencies of their labels.
    """
    of_constant = trials[trials["competitor"] == CONSTANT].set_index(TRIAL)["log_loss"].rename("bound")
    others = trials[trials["competitor"] != CONSTANT].join(of_constant, on=TRIAL)
    # Rounding alone makes no trial worse.
    is_worse = others["log_loss"] > others["bound"] * (1 + 1e-9)
    is_worse = others["worse_than_frequencies"].astype("boolean").fillna(is_worse)
    is_one = others["one_class"].astype("boolean").fillna(value=False) & (others["n_label_classes"] > 1)
    marked = others.assign(trials=1, one_class=is_one, worse=is_worse)
    return marked.groupby(["labels", "competitor"])[["trials", "one_class", "worse"]].sum().astype("int64")
