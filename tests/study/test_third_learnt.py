"""Counts of trials that have not learnt: by the mark of a record, and without one by the constant's log-loss."""

import numpy as np
import pandas as pd

from study.third_edition.learnt import CONSTANT, counts


def trial(competitor: str, number: int, log_loss: float, **changes: object) -> dict[str, object]:
    row = {"dataset": "iris", "labels": "20", "competitor": competitor, "trial": number, "log_loss": log_loss}
    return row | {"one_class": False, "n_label_classes": 2, "worse_than_frequencies": None} | changes


BOUNDS = [0.6, 0.7, 0.65]
FREQUENCIES = [trial(CONSTANT, number, bound, one_class=True) for number, bound in enumerate(BOUNDS)]


def test_a_trial_is_held_against_the_constant_of_its_own_table_budget_and_number() -> None:
    network = [trial("net", 0, 0.65), trial("net", 1, 0.65), trial("net", 2, 0.65)]
    elsewhere = [trial("net", 0, 0.65) | {"labels": "50"}, trial(CONSTANT, 0, 0.5) | {"labels": "50"}]

    found = counts(pd.DataFrame([*network, *elsewhere, *FREQUENCIES]))

    assert found.loc[("20", "net")].to_dict() == {"trials": 3, "one_class": 0, "worse": 1}
    assert found.loc[("50", "net")].to_dict() == {"trials": 1, "one_class": 0, "worse": 1}
    assert CONSTANT not in found.index.get_level_values("competitor")


def test_the_mark_of_a_record_counts_before_the_constant_and_without_both_nothing_does() -> None:
    marked = [trial("net", 0, 0.9, worse_than_frequencies=False), trial("net", 1, 0.1, worse_than_frequencies=True)]
    alone = [trial("alone", 7, 9.0), trial("alone", 8, np.nan)]

    found = counts(pd.DataFrame([*marked, *alone, *FREQUENCIES]))

    assert found["worse"].to_dict() == {("20", "net"): 1, ("20", "alone"): 0}
    unmarked = pd.DataFrame([*marked, *FREQUENCIES]).drop(columns="worse_than_frequencies")
    assert counts(unmarked)["worse"].tolist() == [1]


def test_one_class_counts_only_where_labels_are_of_more() -> None:
    rows = [trial("net", number, 0.1, one_class=True, n_label_classes=n) for number, n in enumerate((1, 2, 3))]
    assert counts(pd.DataFrame([*rows, *FREQUENCIES]))["one_class"].tolist() == [2]
