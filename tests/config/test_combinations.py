from dataclasses import asdict, fields
from typing import Any

import pytest

from scarf_lightning.config import Config, canonical, check_combination, unused_options
from scarf_lightning.config.schema import PRETEXT_TASKS
from scarf_lightning.errors import UsageError
from scarf_lightning.settings import PretrainSettings
from tests.composing import config_of

NOT_SCIENTIFIC = {"dataset", "trainer", "logger", "paths", "trials"}


def select(node: Any, option: str) -> Any:
    for key in option.split("."):
        node = node[key]
    return node


def test_an_unknown_pretraining_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        check_combination(config_of("pretrain.name=scarfs"))

    assert str(caught.value) == f"pretrain.name=scarfs is unknown; the options are: {', '.join(PRETEXT_TASKS)}."


@pytest.mark.parametrize("name", PRETEXT_TASKS)
def test_known_pretrainings_are_taken(name: str) -> None:
    check_combination(config_of(f"pretrain.name={name}"))


def test_a_pretrained_cell_uses_every_option() -> None:
    assert unused_options(config_of("pretrain=scarf")) == set()


def test_a_cell_without_pretraining_uses_nothing_of_it_but_its_name() -> None:
    unused = unused_options(config_of("pretrain=none"))

    of_pretrain = {f"pretrain.{field.name}" for field in fields(PretrainSettings)} - {"pretrain.name"}
    assert unused == of_pretrain | {"corruption", "loss", "network.pretrain_head"}


def test_the_canonical_fields_are_all_but_data_paths_hardware_loggers_and_the_number_of_trials() -> None:
    config = config_of("seed=7", "fit_on=train", "regime=semi25")

    fields_of_cell = canonical(config)

    assert set(fields_of_cell) == {field.name for field in fields(Config)} - NOT_SCIENTIFIC
    assert fields_of_cell == {name: asdict(config)[name] for name in fields_of_cell}


def test_what_a_cell_does_not_use_is_null_and_the_rest_is_kept() -> None:
    config = config_of("pretrain=none", "network.encoder.width=8")
    unused = unused_options(config)

    fields_of_cell = canonical(config)

    assert all(select(fields_of_cell, option) is None for option in unused)
    assert fields_of_cell["corruption"] is None
    assert fields_of_cell["loss"] is None
    assert fields_of_cell["pretrain"] == {field.name: None for field in fields(PretrainSettings)} | {"name": "none"}
    assert fields_of_cell["network"]["pretrain_head"] is None
    assert fields_of_cell["network"]["encoder"] == asdict(config)["network"]["encoder"]
    for axis in ("regime", "scaling", "method", "finetune", "seed", "fit_on"):
        assert fields_of_cell[axis] == asdict(config)[axis]


def test_the_configuration_itself_keeps_what_the_cell_does_not_use() -> None:
    config = config_of("pretrain=none")
    before = asdict(config)

    canonical(config)

    assert asdict(config) == before


def test_without_pretraining_all_of_its_options_are_one_cell() -> None:
    plain = canonical(config_of("pretrain=none"))
    dressed = config_of(
        "pretrain=none",
        "corruption=mean",
        "loss.temperature=0.1",
        "pretrain.batch_size=32",
        "network.pretrain_head.depth=5",
    )

    assert canonical(dressed) == plain
    assert canonical(config_of("pretrain=scarf")) != plain
