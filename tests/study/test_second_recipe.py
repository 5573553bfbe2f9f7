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


def test_trials_with_labels_of_one_class_are_counted_apart() -> None:
    rows = [trial(one_class=constant, n_label_classes=n) for constant, n in ((True, 1), (True, 2), (False, 2))]
    rows += [trial(one_class=True, n_label_classes=1, method="logistic")]

    found = second_recipe.cells(pd.DataFrame(rows), "ten_trials")

    assert found["one_class_labels"].tolist() == [pytest.approx(1 / 3), 1.0]
    network = second_recipe.tables(found).splitlines()[-2:]
    # Of the two trials whose labels are of two classes one predicts one class.
    assert any("| 66.7 | 50.0 |" in line for line in network)
    assert second_recipe.cells(pd.DataFrame([trial()]), "ten_trials")["one_class_labels"].isna().all()


@pytest.fixture(scope="module")
def ten_trials() -> pd.DataFrame:
    """Rows of tables and budgets, columns of competitors."""
    found = pd.read_csv(second_recipe.FILE, dtype={"labels": str})
    found = found[found["round"] == "ten_trials"]
    return found.assign(competitor=found["method"] + " " + found["pretrain"])


def test_what_the_page_says_of_ten_trials(ten_trials: pd.DataFrame) -> None:
    wide = 100 * ten_trials.pivot_table(index=["labels", "dataset"], columns="competitor", values="score")
    gains = wide["control scarf"] - wide["control none"]
    behind = wide.sub(wide["logistic none"], axis=0)
    texts = []
    for budget in ("20", "100"):
        error = gains[budget].std(ddof=1) / len(gains[budget]) ** 0.5
        texts.append(f"{gains[budget].mean():.1f} ± {error:.1f} ({(gains[budget] > 0).sum()} of 20)")
    page = " ".join((ROOT / "study/recipe.md").read_text().split())
    assert f"in ten trials it adds {' and '.join(texts)}." in page
    far = {}
    for name in behind:
        for (budget, dataset), difference in behind[name][behind[name] < -5].round(1).items():
            far[budget, dataset, name] = difference
    assert far == {
        ("100", "jm1", "control none"): -5.8,
        ("100", "jm1", "control scarf"): -6.0,
        ("20", "jm1", "control none"): -8.8,
        ("20", "jm1", "control scarf"): -7.9,
        ("20", "kc1", "control scarf"): -5.3,
    }


def test_what_the_page_says_of_networks_that_predict_one_class(ten_trials: pd.DataFrame) -> None:
    percent = {}
    of_one = ten_trials[(ten_trials["one_class_labels"] > 0) & (ten_trials["competitor"] == "control none")]
    assert (of_one["one_class_labels"] * of_one["trials"]).round().sum() == 14
    assert of_one["dataset"].tolist() == ["ozone-level-8hr", "pc3", "sick", "wilt"]
    for name, part in ten_trials.groupby("competitor"):
        able = (1 - part["one_class_labels"]) * part["trials"]
        constant = (part["one_class"] - part["one_class_labels"]) * part["trials"]
        percent[name] = round(100 * constant.sum() / able.sum(), 1)
    assert percent == {"bagging scarf": 0.8, "control scarf": 0.8, "control none": 1.3, "logistic none": 3.4}


def test_what_the_page_says_of_ten_networks_that_vote(ten_trials: pd.DataFrame) -> None:
    wide = 100 * ten_trials.pivot_table(index=["labels", "dataset"], columns="competitor", values="score")
    means = wide.groupby("labels").mean().round(1)
    assert means["bagging scarf"].tolist() == [83.5, 71.9]
    gains = wide["bagging scarf"] - wide["control scarf"]
    assert gains.groupby("labels").mean().round(1).tolist() == [0.5, 0.6]
    assert (gains > 0).groupby("labels").sum().tolist() == [13, 13]
    behind = (wide["bagging scarf"] - wide["logistic none"]).round(1)
    assert behind.nsmallest(3).to_dict() == {("20", "jm1"): -4.8, ("100", "jm1"): -4.3, ("20", "kc1"): -4.0}
    bags = ten_trials[ten_trials["competitor"] == "bagging scarf"]
    constant = (bags["one_class"] - bags["one_class_labels"]) * bags["trials"]
    able = (1 - bags["one_class_labels"]) * bags["trials"]
    assert (constant.sum().round(), able.sum().round()) == (3, 386)
    assert bags[constant > 0.5]["dataset"].tolist() == ["churn", "ozone-level-8hr", "wilt"]


def test_what_the_page_says_of_columns_of_a_forest() -> None:
    found = pd.read_csv(second_recipe.FILE, dtype={"labels": str})
    found = found[(found["labels"] == "all") & found["round"].isin(["confirmation_all", "features"])]
    wide = 100 * found.pivot_table(index=["round", "dataset"], columns="candidate", values="score")
    confirmed, others = wide.loc["confirmation_all"], wide.loc["features"]
    chosen = [name for name in wide if name.endswith(" features=forest")]
    changes = pd.DataFrame({name: wide[name] - wide[name.removesuffix(" features=forest")] for name in chosen})
    assert (changes.loc["features"] == 0).all(axis=None)
    assert len(others) == 13
    of_twenty = changes.loc["confirmation_all"]
    changed = of_twenty[(of_twenty != 0).any(axis=1)]
    assert changed.index.tolist() == ["churn", "madelon", "ozone-level-8hr"]
    assert changed.drop("madelon").abs().max(axis=None).round(1) <= 0.6
    names = ["recipe=realmlp_s", "hist_gradient_boosting", "xgboost", "logistic"]
    after = [confirmed[f"{name} features=forest"] for name in names]
    assert [round(each.mean(), 1) for each in after] == [92.5, 92.0, 90.6, 88.0]
    assert [round(each["madelon"], 1) for each in after] == [87.7, 85.8, 77.7, 62.7]


def test_the_tables_of_the_page_are_those_of_the_file() -> None:
    found = pd.read_csv(second_recipe.FILE, dtype={"labels": str})

    assert second_recipe.tables(found) in (ROOT / "study/recipe.md").read_text()
    with pytest.raises(UsageError, match="Name folders of results"):
        second_recipe.main(["result=there"])
