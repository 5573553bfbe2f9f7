import pytest

from scarf_lightning.results import axis_columns, identity, is_unsaid, with_unsaid
from tests.composing import config_of
from tests.results.test_identity import UNSAID as OTHER_VALUES

Row = dict[str, object]


def columns(*overrides: str) -> Row:
    return dict(axis_columns(identity(config_of(*overrides), "")))


def said(column: str, *cells: tuple[str, ...]) -> list[object]:
    """What the table of these cells says in a column."""
    return [cell.get(column) for cell in with_unsaid([columns(*overrides) for overrides in cells])]


@pytest.mark.parametrize(
    ("column", "default", "option"),
    [
        ("network", "mlp", "network=resnet"),
        ("encoding", "onehot", "encoding=ordinal"),
        ("loss.similarity", "cosine", "loss.similarity=dot"),
        ("loss.symmetric", False, "loss.symmetric=true"),
        ("finetune.freeze", "none", "finetune.freeze=encoder"),
        ("finetune.first_layer", "fresh", "finetune.first_layer=pretrained"),
        ("corruption.values", "rows", "corruption.values=distinct"),
        ("finetune.metric", "null", "finetune.metric=auroc"),
        ("finetune.patience", 3, "finetune.patience=null"),
        ("impute_on", "null", "impute_on=train"),
        ("tune", 0, "tune=3"),
        *((f"finetune.{option}", None, f"finetune.{option}={value}") for option, value in OTHER_VALUES.items()),
    ],
)
def test_a_default_is_said_beside_a_cell_that_sets_another_value(column: str, default: object, option: str) -> None:
    first, second = said(column, (), (option,))

    assert first is not None
    assert second is not None
    assert first != second
    assert default is None or first == default


def test_where_none_sets_it_none_says_it() -> None:
    cells = [columns(), columns("corruption=mean")]
    assert with_unsaid(cells) == cells


@pytest.mark.parametrize(
    ("column", "with_it", "without"),
    [
        ("network", ("network=resnet",), ("pretrain=none", "method=logistic")),
        ("encoding", ("encoding=ordinal",), ("pretrain=none", "method=xgboost")),
        ("loss.symmetric", ("loss.symmetric=true",), ("loss=barlow_twins",)),
        ("loss.symmetric", ("loss.symmetric=true",), ("pretrain=none",)),
        ("pretrain.weight_decay", ("pretrain.weight_decay=0.1",), ("pretrain=none",)),
        ("finetune.first_layer", ("finetune.first_layer=pretrained",), ("pretrain=none",)),
        ("corruption.values", ("corruption.values=distinct",), ("corruption=mean",)),
        ("regime.labelled_validation", ("regime=semi25", "regime.labelled_validation=0.25"), ("regime=noise30",)),
        ("regime.over", ("regime=noise30", "regime.over=others"), ("regime=semi25",)),
        ("finetune.schedule", ("finetune.schedule=cosine",), ("pretrain=none", "method=random_forest")),
        ("pretrain.n_subsets", ("pretrain=subtab",), ()),
        ("corruption.rate", (), ("corruption=none",)),
        ("network.encoder.depth", (), ("pretrain=none", "method=tabm")),
    ],
)
def test_what_a_cell_does_not_use_it_does_not_say(
    column: str, with_it: tuple[str, ...], without: tuple[str, ...]
) -> None:
    used, unused = said(column, with_it, without)
    assert used is not None
    assert unused is None


def test_what_a_rival_uses_of_the_options_of_fine_tuning_it_says() -> None:
    rival, balanced = ("pretrain=none", "method=logistic"), ("pretrain=none", "finetune.class_weight=balanced")
    assert said("finetune.class_weight", rival, balanced) == ["none", "balanced"]


def test_co_trained_parts_say_their_own() -> None:
    cells = [("method=cotrain",), ("method=cotrain", "cotrain.loss.similarity=dot"), ()]
    assert said("cotrain.loss.similarity", *cells) == ["cosine", "dot", None]


def test_saying_it_makes_no_other_cell_of_it() -> None:
    (plain, _), bare = with_unsaid([columns(), columns("network=resnet", "finetune.metric=auroc")]), columns()
    assert plain != bare
    assert {column: value for column, value in plain.items() if not is_unsaid(column, value)} == bare
