import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from typing import Any

import pytest

from scarf_lightning.config import Config, canonical, unused_options
from scarf_lightning.config.axes import BASES
from scarf_lightning.config.schema import (
    CacheSettings,
    ChunkSettings,
    DatasetSettings,
    LoggerSettings,
    PathSettings,
    ViewsSettings,
)
from scarf_lightning.networks.mlp import MLP
from scarf_lightning.results import fingerprint, identity, pretraining_identity
from scarf_lightning.settings import (
    PRECISIONS,
    FinetuneSettings,
    FitSettings,
    LayerSettings,
    PretrainSettings,
    TrainerSettings,
)
from tests.cells import DATA_HASH, some_config
from tests.composing import config_of


def leaves(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, (*path, key))
    else:
        yield path


UNSAID: dict[str, Any] = {
    "validate_every": 2, "monitor_smoothing": 0.5, "min_epochs": 5, "min_steps": 7, "min_improvement": 0.1,
    "weight_decay": 0.1, "gradient_clip": 3.0, "schedule": "cosine", "shuffle": "once",
}  # fmt: skip
EVERYTHING = some_config(
    method={"name": "cotrain"},
    split={"name": "stratified"},
    encoding={"name": "ordinal", "order": "declared"},
    impute_on="train",
    pretrain=PretrainSettings(**UNSAID, validation_batch_size=64),
    finetune=FinetuneSettings(**UNSAID, class_weight="balanced"),
    tune=3,
)
"""A pre-trained and co-trained cell, which uses every option, those too that are unsaid at their defaults."""

SCIENTIFIC = list(leaves(canonical(EVERYTHING)))
OF_THE_RUN = ("trials", "sweeps", "plan", "force", "keep_weights", "keep_predictions_mb", "objective", "batch_size")
"""The batch sizes of the phases are what counts, not the one that they are unless they are set."""
OTHERS = [(option,) for option in OF_THE_RUN] + [
    (group, option.name)
    for group, settings in {
        "dataset": DatasetSettings,
        "trainer": TrainerSettings,
        "logger": LoggerSettings,
        "paths": PathSettings,
        "cache": CacheSettings,
        "chunk": ChunkSettings,
    }.items()
    for option in fields(settings)
    if (group, option.name) != ("trainer", "precision")
]


OTHER_NAMES = {("method", "name"): "control", ("pretrain", "name"): "scarf_ae", ("cotrain", "task"): "scarf_ae"}
"""Of parts that the identity looks up, since it depends on what they use."""


def another(value: Any) -> Any:
    """A value that is not this one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return value + "_"
    if is_dataclass(value):
        return replace(value, mode="online")
    return 1 if value is None else value + 1


def change(config: Config, path: tuple[str, ...]) -> Config:
    changed = deepcopy(config)
    *parents, last = path
    node: Any = changed
    for key in parents:
        node = node[key] if isinstance(node, dict) else getattr(node, key)
    if path in OTHER_NAMES:
        other: Any = OTHER_NAMES[path]
        node.update({last: other}) if isinstance(node, dict) else setattr(node, last, other)
    elif isinstance(node, dict):
        node[last] = another(node[last])
    else:
        setattr(node, last, another(getattr(node, last)))
    return changed


def name_of(config: Config, data_hash: str = DATA_HASH) -> str:
    return fingerprint(identity(config, data_hash))


def test_the_walk_below_meets_every_setting_of_training_and_networks() -> None:
    met = {".".join(path) for path in SCIENTIFIC}

    assert {f"finetune.{field.name}" for field in fields(FitSettings)} <= met
    assert {f"pretrain.{field.name}" for field in fields(PretrainSettings)} - {"pretrain.options"} <= met
    assert {f"network.encoder.{field.name}" for field in fields(MLP)} <= met
    for head in ("head", "pretrain_head"):
        assert {f"network.{head}.{field.name}" for field in fields(LayerSettings)} <= met
    assert {"network.weight_init", "network.bias_init", "seed", "fit_on", "corruption.rate", "regime.labelled"} <= met
    assert {"cotrain.task", "cotrain.weight", "cotrain.corruption.rate", "cotrain.loss.temperature"} <= met
    axes = {*BASES, "views", "cotrain.corruption", "cotrain.loss"} - {"network"}  # the default network is unsaid
    assert {f"{axis}.name" for axis in axes} <= met


def test_no_option_is_null_in_a_cell_that_uses_all() -> None:
    assert unused_options(EVERYTHING) == set()


def test_every_group_of_the_configuration_is_walked() -> None:
    """But for plugins: their source is in the identity, not what they are called."""
    assert {path[0] for path in SCIENTIFIC + OTHERS} == {field.name for field in fields(Config)} - {"plugins"}


@pytest.mark.parametrize("path", SCIENTIFIC, ids=".".join)
def test_every_scientific_option_is_part_of_the_identity(path: tuple[str, ...]) -> None:
    assert name_of(change(EVERYTHING, path)) != name_of(EVERYTHING)


@pytest.mark.parametrize("path", OTHERS, ids=".".join)
def test_no_other_option_is_part_of_the_identity(path: tuple[str, ...]) -> None:
    assert name_of(change(EVERYTHING, path)) == name_of(EVERYTHING)


@pytest.mark.parametrize("pretrain", ["none", "scarf"])
def test_another_precision_than_the_default_is_another_cell_and_another_pretraining(pretrain: str) -> None:
    configs = [some_config(pretrain=pretrain, trainer=TrainerSettings(precision=each)) for each in PRECISIONS]

    assert len({name_of(config) for config in configs}) == len(PRECISIONS)
    assert len({fingerprint(pretraining_identity(config, DATA_HASH)) for config in configs}) == len(PRECISIONS)
    assert [identity(config, DATA_HASH).get("precision") for config in configs] == [None, *PRECISIONS[1:]]


def test_fingerprints_that_results_have_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of cells of the default precision, which was not in the identity at first, and of all pre-trainings."""
    monkeypatch.setattr(import_module("scarf_lightning.results.identity"), "SCIENCE_VERSION", 1)
    mixed = some_config(trainer=TrainerSettings(precision="bf16-mixed"))

    assert name_of(some_config()) == "b518efd737bb3fb8"
    assert fingerprint(pretraining_identity(some_config(), DATA_HASH)) == "89946db0f73fe296"
    assert fingerprint(pretraining_identity(mixed, DATA_HASH)) == "4d5e1c379da0cbb0"


@pytest.mark.parametrize(
    ("overrides", "cell", "pretraining"),
    [
        ("", "dad8cc113a75a908", "b193e9502e66a091"),
        ("pretrain=none regime=noise30 method=self_train", "75aaf89cf623caaf", None),
        ("regime=semi25 scaling=minmax", "cf0abf24577e6241", "ece2eebae80784e9"),
        ("pretrain=none method=xgboost", "0077306b5ef557b6", None),
        ("pretrain=none method=cotrain cotrain=scarf", "1767d7e61af170b6", None),
        ("pretrain=subtab network=resnet", "9757312d43620174", "43c24efd4bd34d82"),
        ("loss=barlow_twins corruption=mean", "a98e26257e8ba691", "bdfb727b243efc32"),
        ("pretrain=scarf_ae method=tri_train regime=semi25", "6c7a08e8c61bfb6f", "df48401125df8fbc"),
    ],
)
def test_an_option_that_is_added_makes_no_other_cell_of_what_is_finished(
    overrides: str, cell: str, pretraining: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An option that changes a fingerprint here, at its default, is missing in `UNSAID_AT`."""
    monkeypatch.setattr(import_module("scarf_lightning.results.identity"), "SCIENCE_VERSION", 1)
    config = config_of(*overrides.split())

    assert fingerprint(identity(config, "data")) == cell
    assert pretraining is None or fingerprint(pretraining_identity(config, "data")) == pretraining


def test_the_data_and_the_science_version_are_part_of_the_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    before = name_of(some_config())

    assert name_of(some_config(), "1" * 64) != before
    monkeypatch.setattr(import_module("scarf_lightning.results.identity"), "SCIENCE_VERSION", 10**6)
    assert name_of(some_config()) != before


def test_without_pretraining_none_of_its_options_is_part_of_the_identity() -> None:
    plain = name_of(some_config(pretrain="none"))

    assert plain == name_of(some_config(pretrain="none", corruption={"name": "mean", "rate": 0.1}))
    assert plain == name_of(some_config(pretrain="none", loss={"name": "infonce", "temperature": 0.1}))
    small_batches = replace(PretrainSettings(name="none"), batch_size=32)
    assert plain == name_of(replace(some_config(), pretrain=small_batches))
    assert plain == name_of(some_config(pretrain="none", selection={"name": "shared"}))
    assert plain == name_of(some_config(pretrain="none", views=ViewsSettings("both")))
    assert plain != name_of(some_config())


def test_only_a_co_trained_cell_has_the_options_of_co_training_in_its_identity() -> None:
    cotrain = some_config().cotrain
    heavier = replace(cotrain, weight=2.0)
    milder = replace(cotrain, corruption={"name": "marginal", "rate": 0.3})

    def names(method: str) -> set[str]:
        return {name_of(some_config(method={"name": method}, cotrain=each)) for each in (cotrain, heavier, milder)}

    assert len(names("control")) == 1
    assert len(names("cotrain")) == 3
    assert not names("control") & names("cotrain")


def test_a_number_is_its_value_and_not_its_type() -> None:
    def with_option(value: Any) -> str:
        return name_of(some_config(method={"name": "control", "option": value}))

    assert with_option(1) == with_option(1.0)
    assert with_option(2**53 - 1) == with_option(2.0**53 - 1), "the largest up to which all are numbers of both types"
    assert with_option([1, 2.0]) == with_option((1.0, 2))
    assert with_option({"deep": 3.0}) == with_option({"deep": 3})
    different = (0, 1, 1.5, True, False, None, "1", "", [], [1], {})
    assert len({with_option(value) for value in different}) == len(different)


def test_the_order_of_options_does_not_matter() -> None:
    one, other_way = {"name": "marginal", "rate": 0.6}, {"rate": 0.6, "name": "marginal"}

    assert name_of(some_config(corruption=one)) == name_of(some_config(corruption=other_way))


def test_a_fingerprint_is_16_digits_of_the_sha256_of_sorted_json() -> None:
    text = '{"a": {"\\u00fc": true}, "b": [1, 2.5, null]}'
    named = {"b": [1, 2.5, None], "a": {"ü": True}}
    assert json.loads(text) == named

    assert fingerprint(named) == hashlib.sha256(text.encode()).hexdigest()[:16] == "ba314ada43365b4c"


def test_an_identity_survives_json() -> None:
    written = identity(some_config(), DATA_HASH)

    assert json.loads(json.dumps(written)) == written


def test_the_fingerprint_is_the_same_in_every_process() -> None:
    code = (
        "import json, sys\n"
        "from scarf_lightning.results.identity import fingerprint\n"
        "fields = json.load(sys.stdin)\n"
        "print(fingerprint(fields), fingerprint(dict(reversed(fields.items()))), hash('a'))\n"
    )
    written = identity(some_config(), DATA_HASH)
    answers = [
        subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps(written),
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for seed in ("1", "2")
    ]

    assert {name for *names, _ in answers for name in names} == {fingerprint(written)}
    assert len({string_hash for *_, string_hash in answers}) == 2
