"""Names of cells: the overrides in which they differ."""

import random
from typing import Any

import pytest

from scarf_lightning.reporting.names import (
    distinguishing_columns,
    labels_in_words,
    options_in,
    setting_name,
    shortened,
    text_of,
)
from scarf_lightning.results.identity import with_reading
from tests.reporting.cell_results import a_cell

Row = dict[str, Any]


def row(**columns: Any) -> Row:
    """A cell by what it chose; double underscores stand for dots."""
    return a_cell(**{"encoding": "onehot"} | columns)[0]


def names_of(rows: list[Row], preferred: list[str] | None = None) -> list[str]:
    columns = list(dict.fromkeys(column for each in rows for column in each))
    chosen = distinguishing_columns(rows, columns, preferred or [])
    return [setting_name(each, chosen) for each in rows]


RIVALS = [row(), row(method="logistic", network=None, encoding=None), row(method="random_forest", network=None)]
VIEWED = [row(loss=loss, views=views) for loss, views in (("infonce", "one"), ("barlow_twins", "both"))]
DROPPED = with_reading([row(dataset__drop="[mean radius]"), row(dataset__drop="[a,'b,c']"), row()])
SHORTER = [row(corruption__rate=rate, pretrain__max_epochs=n) for rate, n in ((0.3, 1000), (0.6, 1000), (0.6, 4))]


@pytest.mark.parametrize(
    ("rows", "preferred", "names"),
    [
        # A method is called by its name and not by what it lacks.
        (RIVALS, [], ["method=control", "method=logistic", "method=random_forest"]),
        # Two options that go together: the one that the user varied gives the name.
        (VIEWED, ["views"], ["views=one", "views=both"]),
        (VIEWED, ["loss"], ["loss=infonce", "loss=barlow_twins"]),
        # What follows from another option does not tell cells apart.
        (
            [row(), row(pretrain="scarf", loss="infonce", pretrain__batch_size=128), row(dataset="b", scaling="none")],
            [],
            ["pretrain=none", "pretrain=scarf", "pretrain=none"],
        ),
        (DROPPED, ["dataset.drop"], ["dataset.drop=[mean radius]", "dataset.drop=[a,'b,c']", "dataset.drop=null"]),
        # A cell of four epochs does not hide behind its rate.
        (
            SHORTER,
            ["corruption.rate", "pretrain.max_epochs"],
            [f"corruption.rate={rate}, pretrain.max_epochs={n}" for rate, n in ((0.3, 1000), (0.6, 1000), (0.6, 4))],
        ),
    ],
)
def test_a_name_is_the_overrides_that_tell_cells_apart(rows: list[Row], preferred: list[str], names: list[str]) -> None:
    assert names_of(rows, preferred) == names


@pytest.mark.parametrize(
    ("value", "text"), [(None, "null"), (True, "true"), (0.30, "0.3"), (20, "20"), ("[a,b]", "[a,b]"), (1e-4, "0.0001")]
)
def test_a_value_is_that_of_the_command_line(value: Any, text: str) -> None:
    assert text_of(value) == text


def test_budgets_in_words_and_columns_of_overrides() -> None:
    assert [labels_in_words(budget) for budget in (float("inf"), 20, 0.25)] == [
        "all labels",
        "20 labels",
        "25 % of the labels",
    ]
    overrides = ("pretrain=none", "+corruption.rate=0.3", "loss@cotrain.loss=infonce", "dataset.drop=[a=b]")
    assert options_in(overrides) == ["pretrain", "corruption.rate", "cotrain.loss", "dataset.drop"]


def made_up(rng: random.Random) -> list[Row]:
    """Cells that differ at random in what a user may vary, among them lists of columns and options not used."""
    choices: dict[str, list[Any]] = {
        "pretrain": ["none", "scarf", "vime"],
        "method": ["control", "mixup", "logistic"],
        "corruption": [None, "marginal", "mean", "none"],
        "corruption.rate": [None, 0.3, 0.6],
        "network": ["mlp", "resnet", None],
        "dataset.drop": ["null", "[a]", "[a,b]", "['a,b']", "[null]"],
        "regime.labels": [None, 20, 100],
        "finetune.patience": [3, None, 1],
        "loss.x": [None, 1],
        "views.x": [None, 1],
    }
    varied = rng.sample(sorted(choices), 4)
    return [row(**{name: rng.choice(choices[name]) for name in varied}) for _ in range(rng.randint(2, 12))]


@pytest.mark.parametrize("seed", range(30))
def test_names_are_different_for_different_settings_whatever_the_order_of_cells(seed: int) -> None:
    rng = random.Random(seed)
    rows = made_up(rng)
    columns = list(dict.fromkeys(column for each in rows for column in each))
    preferred = rng.sample(columns, 2)
    chosen = distinguishing_columns(rows, columns, preferred)

    names = {setting_name(each, chosen) for each in rows}

    assert len(names) == len({repr([each.get(column) for column in columns]) for each in rows})
    assert chosen == distinguishing_columns(rng.sample(rows, len(rows)), columns, preferred)


def test_a_long_name_keeps_its_two_ends() -> None:
    assert shortened(["SCARF", "customers, all labels, logistic"], 16) == {
        "SCARF": "SCARF",
        "customers, all labels, logistic": "customer…ogistic",
    }
