"""What cells are called: by what tells them apart, in words, and short."""

import random
import string
from typing import Any

import pytest

from scarf_lightning.reporting.names import (
    Namer,
    asked_for,
    column_in_words,
    distinguishing_columns,
    labels_in_words,
    shortened,
    value_in_words,
)
from scarf_lightning.results import with_reading
from tests.reporting.cell_results import a_cell

Row = dict[str, Any]
LABELS = {"method": {"logistic": "logistic regression"}, "pretrain": {"scarf": "SCARF"}}


def row(**columns: Any) -> Row:
    """A cell by what it chose; double underscores stand for dots."""
    return a_cell(**{"encoding": "onehot"} | columns)[0]


def names_of(rows: list[Row], asked: list[str] | None = None, usual: Row | None = None) -> list[str]:
    columns = list(dict.fromkeys(column for each in rows for column in each))
    chosen = distinguishing_columns(rows, columns, asked or [])
    return [Namer(rows, chosen, usual or {}, LABELS)(each) for each in rows]


RIVALS = [row(), row(method="logistic", network=None, encoding=None), row(method="random_forest", network=None)]
VIEWED = [row(loss=loss, views=views) for loss, views in (("infonce", "one"), ("barlow_twins", "both"))]
TRAINED = [row(pretrain=p, method=m) for m in ("control", "mixup") for p in ("none", "scarf")]
DROPPED = with_reading([row(dataset__drop="[mean radius]"), row(dataset__drop="[a,'b,c']"), row()])


@pytest.mark.parametrize(
    ("rows", "asked", "names"),
    [
        # A method is called by its name and not by what it lacks.
        (RIVALS[:2], [], ["the network", "logistic regression"]),
        (RIVALS, [], ["the network", "logistic regression", "random forest"]),
        # Two options that go together: the one that the user varied gives the name.
        (VIEWED, ["views"], ["one views", "both views"]),
        (VIEWED, ["loss"], ["infonce loss", "barlow twins loss"]),
        # Pre-training tells the two apart, and the method is why they differ too.
        ([row(pretrain="scarf"), RIVALS[1]], ["pretrain", "method"], ["SCARF", "logistic regression"]),
        # No pre-training is told of methods that are pre-trained elsewhere.
        ([*TRAINED, RIVALS[1]], ["pretrain", "method"],
         ["no pre-training", "SCARF", "no pre-training, mixup", "SCARF, mixup", "logistic regression"]),
        (DROPPED, ["dataset.drop"], ["without mean radius", "without a and 'b,c'", "all columns"]),
    ],
)  # fmt: skip
def test_a_name_says_what_tells_cells_apart(rows: list[Row], asked: list[str], names: list[str]) -> None:
    assert names_of(rows, asked) == names


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("dataset.categorical", "[a,b]", "a and b as categories"),
        ("dataset.numeric", "null", "numbers as found"),
        ("dataset.weight", "w", "rows weighted by w"),
        ("dataset.encoding", "cp1252", "letters in cp1252"),
        ("dataset.drop", "[a,b,c]", "without a, b and c"),
        ("regime.labels", 20, "20 labels"),
        ("regime.labelled", 0.25, "25 % of the labels"),
        ("fit_on", "train", "fitted on training rows"),
        ("pretrain.learning_rate", 0.01, "pre-training learning rate 0.01"),
        ("corruption", "mean", "mean corruption"),
        ("corruption", "none", "no corruption"),
        ("corruption.rate", 0.6, "rate 0.6"),
        ("max_epochs", 5, "max epochs 5"),
        ("seed", 3, "seed 3"),
        ("recipe", "paper", "recipe paper"),
    ],
)
def test_a_value_in_words(column: str, value: Any, words: str) -> None:
    assert value_in_words(column, value, LABELS) == words


def test_columns_budgets_and_overrides_in_words() -> None:
    assert column_in_words("pretrain.batch_size") == "pre-training batch size"
    assert column_in_words("dataset.drop") == "columns left out"
    assert labels_in_words(float("inf")) == "all labels"
    overrides = ("pretrain=none", "+corruption.rate=0.3", "loss@cotrain.loss=infonce", "dataset.drop=[a=b]")
    assert asked_for(overrides) == ["pretrain", "corruption.rate", "cotrain.loss", "dataset.drop"]


def test_columns_that_follow_from_others_do_not_tell_cells_apart() -> None:
    rows = [
        row(),
        row(pretrain="scarf", loss="infonce", pretrain__batch_size=128),
        row(pretrain="scarf", loss="barlow_twins", pretrain__batch_size=128),
        row(dataset="unscaled", scaling="none"),
    ]
    columns = list(dict.fromkeys(column for each in rows for column in each))

    assert distinguishing_columns(rows, columns) == ["pretrain", "loss"]


def test_names_of_many_candidates_leave_out_what_most_have_in_common() -> None:
    """Most candidates have options that are no defaults; those that have the defaults say so."""
    common = {"finetune__monitor": "loss", "finetune__patience": 10, "finetune__min_steps": 100, "views": "both"}
    rates = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    candidates = [row(pretrain="scarf", corruption__rate=rate, **common) for rate in rates]
    defaults = {"finetune__monitor": "error", "finetune__patience": 3, "finetune__min_steps": 0, "views": "one"}
    papers = row(pretrain="scarf", corruption__rate=0.6, **defaults)
    usual = {key.replace("__", "."): value for key, value in defaults.items()} | {"corruption.rate": 0.6}

    names = names_of([*candidates, papers], asked=list(usual), usual=usual)

    assert names[0] == "rate 0.1"
    assert names[-1] == ("fine-tuning monitor error, fine-tuning patience 3, fine-tuning min steps 0, one views")
    assert len(set(names)) == len(names)


def test_names_of_many_columns_leave_out_the_usual() -> None:
    usual = {"corruption": "marginal", "views": "one", "loss": "infonce"}
    others = [row(pretrain="scarf", **usual | {name: "other"}) for name in usual]
    rows = [*others, row(pretrain="scarf", **usual), row()]

    assert names_of(rows, usual=usual)[0] == "SCARF, other corruption"
    assert names_of(rows[2:], usual=usual)[0] == "SCARF, other loss"


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
        "finetune.patience": [3, "null", True, 1],
        "loss.x": [None, 1],
        "views.x": [None, 1],
    }
    varied = rng.sample(sorted(choices), 4)
    return [row(**{name: rng.choice(choices[name]) for name in varied}) for _ in range(rng.randint(2, 12))]


def test_names_are_different_for_different_settings_and_do_not_depend_on_the_order_of_cells() -> None:
    for seed in range(100):
        rng = random.Random(seed)
        rows = made_up(rng)
        columns = list(dict.fromkeys(column for each in rows for column in each))
        asked = rng.sample(columns, 2)
        chosen = distinguishing_columns(rows, columns, asked)
        shuffled = rng.sample(rows, len(rows))

        names = [Namer(rows, chosen, {}, LABELS)(each) for each in rows]

        settings = [tuple(repr(each.get(column)) for column in columns) for each in rows]
        assert len(set(names)) == len(set(settings)), seed
        assert names == [Namer(shuffled, chosen, {}, LABELS)(each) for each in rows], seed
        assert chosen == distinguishing_columns(shuffled, columns, asked), seed


def test_shortened_names_stay_different_and_do_not_depend_on_the_order() -> None:
    for seed in range(100):
        rng = random.Random(seed)
        letters = "ab" if seed % 2 else string.printable
        begin, end = ("".join(rng.choices(letters, k=rng.randint(0, 60))) for _ in range(2))
        middles = ["".join(rng.choices(letters, k=rng.randint(0, 12))) for _ in range(15)]
        names = list(dict.fromkeys(f"{begin}{middle}{end}" for middle in middles))
        longest = rng.randint(14, 44)

        texts = shortened(names, longest)

        assert list(texts) == names, seed
        assert len(set(texts.values())) == len(names), seed
        assert all(len(text) <= longest for text in texts.values()), seed
        assert shortened(rng.sample(names, len(names)), longest) == texts, seed


def test_a_short_name_stays_as_it_is_and_a_long_one_keeps_its_beginning() -> None:
    assert shortened(["SCARF", "no pre-training, logistic regression"], 32) == {
        "SCARF": "SCARF",
        "no pre-training, logistic regression": "no pre-training, logistic regre…",
    }
    texts = shortened([f"customers, all labels, no pre-training, {name}" for name in ("logistic", "XGBoost")], 32)
    assert [text[-7:] for text in texts.values()] == ["ogistic", "XGBoost"]
