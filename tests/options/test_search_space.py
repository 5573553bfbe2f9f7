import sys

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.options import build_parts
from scarf_lightning.options.axes import BASES, parts
from scarf_lightning.options.search_space import search_space
from scarf_lightning.results import fingerprint, identity, pretraining_identity
from tests.cells import DATA_HASH
from tests.composing import config_of

WIDTHS = ("one_of", 64, 128, 256, 512)
RANGES = {
    "corruption": {
        name: {"rate": ("float", 0.1, 0.9)} for name in ("joint", "marginal", "mean", "missing", "single_row", "zero")
    },
    "pretrain": {
        "binning": {"n_bins": ("log_int", 2, 50)}, "target_aware": {"weight": ("float", 0.1, 0.9)},
    },
    "loss": {"infonce": {"temperature": ("log", 0.05, 5.0)}},
    "method": {
        "catboost": {
            "depth": ("int", 3, 8), "learning_rate": ("log", 0.01, 0.3), "l2_leaf_reg": ("log", 1.0, 30.0),
            "iterations": ("log_int", 100, 1000),
        },
        "hist_gradient_boosting": {
            "learning_rate": ("log", 0.01, 0.5), "max_leaf_nodes": ("log_int", 4, 128),
            "max_iter": ("log_int", 50, 1000), "l2_regularization": ("float", 0.0, 10.0),
        },
        "lightgbm": {
            "learning_rate": ("log", 0.01, 0.5), "num_leaves": ("log_int", 4, 128),
            "n_estimators": ("log_int", 50, 1000), "reg_lambda": ("float", 0.0, 10.0),
            "colsample_bytree": ("float", 0.3, 1.0),
        },
        "logistic": {"C": ("log", 1e-4, 1e4)},
        "ridge": {"alpha": ("log", 1e-4, 1e4)},
        "probe": {"C": ("log", 1e-4, 1e4), "k": ("int", 1, 25)},
        "random_forest": {
            "max_features": ("one_of", "sqrt", "log2", "half", "all"), "min_samples_leaf": ("log_int", 1, 20),
            "max_depth": ("one_of", None, 4, 8, 16),
        },
        "xgboost": {
            "max_depth": ("int", 2, 8), "n_estimators": ("log_int", 50, 1000), "learning_rate": ("log", 0.01, 0.5),
        },
    },
    "network": {
        "ft_transformer": {"depth": ("int", 1, 4)},
        **{name: {"width": WIDTHS} for name in ("mlp", "mlp_ple", "mlp_plr")},
        "realmlp": {
            "width": WIDTHS, "dropout": ("one_of", 0.0, 0.15, 0.3), "frequency_scale": ("log", 0.05, 0.5),
        },
        "resnet": {"width": ("one_of", 64, 128, 192, 256, 512)},
    },
}  # fmt: skip


def test_ranges_are_those_that_stored_cells_were_tuned_in() -> None:
    """A cell is filed under the number of its tries alone: a change of a range is a new science version.

    A part that has the range of its base needs no line here.
    """
    for axis in BASES:
        listed = RANGES.get(axis, {})
        ranges = {name: getattr(cls, "search_space", None) or {} for name, cls in parts(axis).items()}
        own = {name for name, cls in parts(axis).items() if vars(cls).get("search_space")}
        assert {name: ranges[name] for name in {*listed, *own}} == listed
    assert search_space(config_of("pretrain=scarf"))["finetune.learning_rate"] == ("log", 1e-4, 1e-2)


def test_what_networks_are_tuned_by() -> None:
    assert set(search_space(config_of("pretrain=scarf"))) == {
        "pretrain.learning_rate", "finetune.learning_rate", "network.encoder.width", "corruption.rate",
        "loss.temperature",
    }  # fmt: skip
    assert set(search_space(config_of("pretrain=none"))) == {"finetune.learning_rate", "network.encoder.width"}
    assert set(search_space(config_of("method=cotrain", "cotrain=vime"))) == {
        "finetune.learning_rate", "network.encoder.width", "cotrain.corruption.rate",
    }  # fmt: skip


def test_a_range_that_stored_cells_were_not_tuned_by_is_not_searched() -> None:
    of_paper = {"pretrain.learning_rate", "finetune.learning_rate", "network.encoder.width", "corruption.rate"}
    for pretrain in ("binning", "target_aware"):
        assert set(search_space(config_of(f"pretrain={pretrain}"))) == of_paper


def test_another_number_of_tries_is_another_cell_and_none_adds_nothing() -> None:
    plain, few, more = (config_of("pretrain=scarf", f"tune={n}") for n in (0, 5, 6))

    assert "tune" not in identity(plain, DATA_HASH)
    assert len({fingerprint(identity(config, DATA_HASH)) for config in (plain, few, more)}) == 3
    assert len({fingerprint(pretraining_identity(config, DATA_HASH)) for config in (plain, few, more)}) == 1


def test_without_optuna_a_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(UsageError, match=r"tune=2 needs the package optuna: pip install 'optuna<6,>=4'"):
        build_parts(config_of("tune=2"))
