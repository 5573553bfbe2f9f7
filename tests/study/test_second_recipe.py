"""The second race: candidates by what they change, means checked by hand, and the page's tables from its file."""

import pandas as pd
import pytest

from scarf_lightning.errors import UsageError
from study import second_recipe
from tests.composing import ROOT

REALMLP = {"network": "realmlp", "network.encoder.embeds_numbers": True} | {
    "finetune.optimizer": "adamw",
    "finetune.fixed_below": 0,
}


def trial(**changes: object) -> dict[str, object]:
    where = {"dataset": "a", "regime": "few", "regime.labels": 20, "method": "control", "pretrain": "none"}
    return where | {"accuracy": 0.5, "one_class": False, "finetune_seconds": 2.0, "pretrain_seconds": None} | changes


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "base"),
        ({"finetune.max_steps": 300, "finetune.weight_decay": "0.01"}, "base"),
        ({"finetune.max_steps": 100.0}, "max_steps=100.0"),
        ({"pretrain": "vime", "corruption.rate": 0.3}, "base"),
        ({"pretrain": "scarf", "corruption.rate": 0.3}, "rate=0.3"),
        ({"scaling": "robust", "network": "realmlp"}, "network=realmlp scaling=robust"),
        ({"dataset": "diabetes", "finetune.label_smoothing": 0.0}, "base"),
        ({"method": "logistic", "scaling": "robust"}, "logistic"),
        (REALMLP, "recipe=realmlp"),
        (REALMLP | {"finetune.fixed_below": 1000}, "recipe=realmlp fixed_below=1000"),
        (REALMLP | {"network.encoder.embeds_numbers": False}, "recipe=realmlp_s"),
    ],
)
def test_a_candidate_is_called_by_what_it_changes(changes: dict[str, object], name: str) -> None:
    assert second_recipe.candidate(trial(**changes)) == name


def test_a_cell_is_the_mean_of_its_trials_and_numbers_are_scored_by_r2() -> None:
    trials = [trial(accuracy=0.4, one_class=True), trial(accuracy=0.8)]
    trials += [trial(dataset="diabetes", accuracy=None, r2=0.3)]

    found = second_recipe.cells(pd.DataFrame(trials), "first")

    assert found[["dataset", "labels", "score", "one_class", "trials"]].to_numpy().tolist() == [
        ["a", "20", pytest.approx(0.6), 0.5, 2],
        ["diabetes", "20", 0.3, 0.0, 1],
    ]


def test_the_confirmation_compares_competitors_on_the_same_tables() -> None:
    rows = []
    for dataset, score in (("a", 0.7), ("b", 0.9)):
        rows.append(trial(dataset=dataset, accuracy=score))
        rows.append(trial(dataset=dataset, accuracy=score + 0.06 * (dataset == "a"), method="logistic"))
    # Logistic regression lacks table c, and the forest has one of the others.
    rows += [trial(dataset="c", accuracy=0.1), trial(dataset="b", accuracy=0.8, method="random_forest")]

    text = second_recipe.tables(second_recipe.cells(pd.DataFrame(rows), "confirmation"))

    both, one = text.split("Confirmation, 20 labels, 1 table")
    assert both.startswith("Confirmation, 20 labels, 2 tables")
    # The differences are -6 and 0 points, whose mean has a standard error of 3.
    assert "| recipe=practical pretrain=none | 80.00 | 1.75 | −3.0 ± 3.0 | 1 | 0.0 | 2.00 |" in both
    assert "| logistic | 83.00 | 1.25 |  | 0 | 0.0 | 2.00 |" in both
    assert "forest" not in both
    assert "| random\\_forest | 80.00 | 3.00 | −10.0 | 1 | 0.0 | 2.00 |" in one


def test_the_tables_of_the_page_are_those_of_the_file() -> None:
    found = pd.read_csv(second_recipe.FILE, dtype={"labels": str})

    assert second_recipe.tables(found) in (ROOT / "study/recipe.md").read_text()
    with pytest.raises(UsageError, match="Name folders of results"):
        second_recipe.main(["result=there"])
