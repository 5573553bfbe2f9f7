"""A classifier's defaults by the number of labels: what is compared, checked by hand, and the page's tables."""

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.estimators.defaults import MANY, SOME
from study import many_labels
from tests.composing import ROOT


def row(candidate: str, split: int, accuracy: float, **other: object) -> dict[str, object]:
    shared = {"dataset": "a", "labels": 400, "networks": 3, "log_loss": 0.5, "calibration": 0.1, "seconds": 2.0}
    return shared | {"candidate": candidate, "split": split, "accuracy": accuracy} | other


def test_a_training_is_compared_on_the_splits_that_both_have() -> None:
    rows = [row("practical", split, 0.8) for split in (0, 1)]
    rows += [row("practical", 0, 0.5, dataset="b"), row("today", 0, 0.9, seconds=7.0)]
    rows += [row("today", 0, 0.5, dataset="b", seconds=7.0)]

    text = many_labels.tables(pd.DataFrame(rows))

    assert text.startswith("400 labels, 2 tables.")
    assert "| practical, 3 | 3 | 65.0 | 0.500 | 0.100 | 2.0 |" in text
    # Ten points on one table and none on the other.
    assert "| today, 3 | 2 | +5.0 ± 5.0 | +0.000 ± 0.000 | +0.000 ± 0.000 | 7.0 |" in text


def test_measures_of_probabilities() -> None:
    probabilities = np.array([[0.9, 0.1], [0.6, 0.4]])

    found = many_labels.measured(probabilities, ["a", "b"], np.array(["a", "b"], dtype=object))

    assert found["accuracy"] == 0.5
    assert found["log_loss"] == pytest.approx(-(np.log(0.9) + np.log(0.4)) / 2)
    # Each is a bin of its own: one is right with 0.9, the other wrong with 0.6.
    assert found["calibration"] == pytest.approx((0.1 + 0.6) / 2)


def test_a_table_takes_part_if_enough_rows_are_left_to_test() -> None:
    X, y = pd.DataFrame({"x": range(625)}), np.array(["a", "b", "c", "d", "e"] * 125, dtype=object)

    rows = many_labels.rows_of(X, y, 400, 0, is_small=True)

    assert rows is not None
    assert (len(rows.train), len(rows.test)) == (400, 225)
    assert not set(rows.train) & set(rows.test)
    assert many_labels.rows_of(X, y, 400, 0, is_small=False) is None
    assert many_labels.rows_of(X, y, 600, 0, is_small=True) is None
    assert many_labels.rows_of(X, y, many_labels.MANY, 0, is_small=True) is None
    with pytest.raises(UsageError, match=r"^Name the cache of OpenML, openml=FOLDER, and"):
        many_labels.main(["opneml=there"])


def test_the_defaults_are_two_of_the_candidates() -> None:
    none = {"pretrain": "none"}
    for default, name in ((SOME, "practical 150"), (MANY, "realmlp_s 64")):
        parameters = many_labels.CANDIDATES[name].parameters
        chosen = none | {each: value for each, value in parameters.items() if each != "options"} | parameters["options"]
        # What the estimator does by itself is the practical recipe.
        assert {"recipe": "practical", **default.options} == chosen


@pytest.mark.slow
def test_the_page_has_the_tables_of_the_file() -> None:
    found = pd.read_csv(many_labels.FILE)

    page = (ROOT / "study/recipe.md").read_text(encoding="utf-8")
    assert many_labels.tables(found) in page
    assert many_labels.several_classes(found) in page


def test_tables_of_more_than_two_classes_are_compared_alone() -> None:
    rows = [row("practical", 0, 0.8), row("practical", 0, 0.6, dataset="segment")]
    rows += [row("practical 150", 0, 0.9), row("practical 150", 0, 0.7, dataset="segment")]
    rows += [row("practical 150", 0, 0.1, dataset="segment", networks=1)]

    text = many_labels.several_classes(pd.DataFrame(rows))

    assert text.startswith("\nMore than two classes:\n\n400 labels, 1 table.")
    assert "| practical 150, 3 | 1 | +10.0" in text
    assert "150, 1 |" not in text
