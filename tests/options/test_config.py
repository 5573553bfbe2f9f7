"""The configuration of a cell: copies, and the lengths that a user sets against a recipe's."""

import math
from collections.abc import Sequence
from copy import copy

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.options import Config, within_max_epochs
from scarf_lightning.options.config import SHORTHANDS, derived
from tests.cells import some_config
from tests.composing import config_of


def test_what_is_derived_is_made_once_and_anew_for_a_copy() -> None:
    made = []

    @derived
    def doubled(config: Config) -> int:
        made.append(config.seed)
        return 2 * config.seed

    config = some_config()
    other = copy(config)
    other.seed = config.seed + 1

    assert [doubled(each) for each in (config, config, other)] == [2 * config.seed, 2 * config.seed, 2 * other.seed]
    assert made == [config.seed, other.seed]


def test_shorthands_are_the_options_that_both_phases_have() -> None:
    assert SHORTHANDS == ("batch_size", "learning_rate", "max_epochs")


def lengths(config: Config) -> tuple[int, int, int]:
    return config.pretrain.min_steps, config.finetune.min_steps, config.finetune.fixed_below


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ("", (100, 300, 1000)),
        ("max_epochs=20", (20, 20, 0)),
        ("pretrain.max_epochs=20", (20, 300, 1000)),
        ("finetune.max_epochs=30", (100, 30, 0)),
        ("max_epochs=20 pretrain.min_steps=90", (90, 20, 0)),
        ("max_epochs=20 finetune.fixed_steps=50", (20, 20, 1000)),
    ],
)
def test_epochs_that_a_user_sets_are_the_largest_whatever_a_recipe_says(
    overrides: str, expected: tuple[int, int, int]
) -> None:
    of_recipe = {"pretrain.min_steps": 100, "finetune.min_steps": 300, "finetune.fixed_below": 1000}
    config = config_of(*(f"{name}={value}" for name, value in of_recipe.items()), *overrides.split())
    assert lengths(within_max_epochs(config, of_recipe)) == expected


def test_a_part_is_looked_up_by_the_name_of_a_choice_or_of_settings() -> None:
    config = config_of("pretrain=vime", "method=probe")
    assert (config.part("pretrain").__name__, config.part("method").__name__) == ("Vime", "Probe")
    config.method = {"name": "probes"}
    with pytest.raises(UsageError, match=r"method\.name=probes is unknown\. Did you mean probe\?"):
        config.part("method")


@pytest.mark.parametrize(
    ("method", "is_cotrained", "encoding"),
    [("control", False, "ordinal"), ("cotrain", True, "ordinal"), ("random_forest", False, "onehot")],
)
def test_a_cell_has_the_task_and_the_encoding_that_its_method_takes(
    method: str, is_cotrained: bool, encoding: str
) -> None:
    config = config_of(f"method={method}", "encoding=ordinal")
    assert config.is_cotrained is is_cotrained
    assert config.used_encoding["name"] == encoding


@pytest.mark.parametrize(
    ("overrides", "labels"),
    [
        ((), 0),
        (("finetune.fixed_below=200",), 200),
        (("finetune.patience=null", "finetune.restore_best=false"), math.inf),
        (("method=random_forest",), math.inf),
    ],
)
def test_labels_are_watched_from_the_bound_on(overrides: Sequence[str], labels: float) -> None:
    assert config_of(*overrides).watched_from == labels
