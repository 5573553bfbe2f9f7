import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import fields, replace
from typing import Any

import pytest

from scarf_lightning.config import Config, canonical
from scarf_lightning.config.schema import DatasetSettings, LoggerSettings, PathSettings
from scarf_lightning.results import fingerprint, identity
from scarf_lightning.settings import EncoderSettings, FitSettings, LayerSettings, NetworkSettings, PretrainSettings

MakeConfig = Callable[..., Config]

HASH = "0" * 64


def leaves(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, (*path, key))
    else:
        yield path


def settings_leaves() -> list[tuple[str, ...]]:
    """Every scientific option, found in the settings' own fields."""
    blank = Config(
        dataset=DatasetSettings("wdbc"),
        regime={"name": "semi25", "labelled": 0.25},
        scaling={"name": "zscore"},
        pretrain=PretrainSettings(),
        corruption={"name": "marginal", "rate": 0.6},
        loss={"name": "infonce", "temperature": 1.0},
        method={"name": "control"},
        finetune=FitSettings(),
        network=NetworkSettings(),
        trainer=None,  # type: ignore[arg-type]
        logger=LoggerSettings(),
    )
    return list(leaves(canonical(blank)))


def other(value: Any) -> Any:
    """A value that is not this one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return value + "_"
    return 1 if value is None else value + 1


def change(config: Config, path: tuple[str, ...]) -> Config:
    changed = deepcopy(config)
    node: Any = changed
    for key in path[:-1]:
        node = node[key] if isinstance(node, dict) else getattr(node, key)
    if isinstance(node, dict):
        node[path[-1]] = other(node[path[-1]])
    else:
        setattr(node, path[-1], other(getattr(node, path[-1])))
    return changed


def name_of(config: Config, data_hash: str = HASH) -> str:
    return fingerprint(identity(config, data_hash))


def test_every_setting_of_training_and_networks_is_among_the_leaves() -> None:
    """Guards the test below: it is no better than the list that it walks."""
    found = {".".join(path) for path in settings_leaves()}

    assert {f"finetune.{field.name}" for field in fields(FitSettings)} <= found
    assert {f"pretrain.{field.name}" for field in fields(PretrainSettings)} <= found
    assert {f"network.encoder.{field.name}" for field in fields(EncoderSettings)} <= found
    for head in ("head", "pretrain_head"):
        assert {f"network.{head}.{field.name}" for field in fields(LayerSettings)} <= found
    assert {"network.weight_init", "network.bias_init", "seed", "fit_on", "corruption.rate", "regime.labelled"} <= found
    assert {f"{axis}.name" for axis in ("regime", "scaling", "pretrain", "corruption", "loss", "method")} <= found


@pytest.mark.parametrize("path", settings_leaves(), ids=".".join)
def test_every_scientific_option_is_part_of_the_identity(path: tuple[str, ...], make_config: MakeConfig) -> None:
    config = make_config()

    assert name_of(change(config, path)) != name_of(config)


def test_the_data_and_the_science_version_are_part_of_the_identity(
    make_config: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = name_of(make_config())

    assert name_of(make_config(), "1" * 64) != before
    monkeypatch.setattr("scarf_lightning.results.identity.SCIENCE_VERSION", 10**6)
    assert name_of(make_config()) != before


@pytest.mark.parametrize(
    "path",
    [
        ("trials",),
        *(("trainer", option) for option in ("accelerator", "threads", "precision")),
        *((group.name, option.name) for group, cls in [
            (next(f for f in fields(Config) if f.name == "paths"), PathSettings),
            (next(f for f in fields(Config) if f.name == "logger"), LoggerSettings),
            (next(f for f in fields(Config) if f.name == "dataset"), DatasetSettings),
        ] for option in fields(cls)),
    ],
    ids=".".join,
)  # fmt: skip
def test_no_other_option_is(path: tuple[str, ...], make_config: MakeConfig) -> None:
    config = make_config()

    assert name_of(change(config, path)) == name_of(config)


def test_without_pretraining_no_option_of_it_is(make_config: MakeConfig) -> None:
    plain = name_of(make_config(pretrain="none"))

    assert plain == name_of(make_config(pretrain="none", corruption={"name": "mean", "rate": 0.1}))
    assert plain == name_of(make_config(pretrain="none", loss={"name": "infonce", "temperature": 0.1}))
    batches = replace(make_config(pretrain="none").pretrain, batch_size=32)
    assert plain == name_of(replace(make_config(), pretrain=batches))
    assert plain != name_of(make_config())


def test_a_number_is_its_value_and_not_its_type() -> None:
    assert fingerprint(_of(1)) == fingerprint(_of(1.0))
    assert fingerprint(_of([1, 2.0])) == fingerprint(_of((1.0, 2)))
    assert fingerprint(_of(1e-3)) == fingerprint(_of(0.001))
    assert len({fingerprint(_of(value)) for value in (0, 1, 1.5, True, False, None, "1", "", [], [1], {})}) == 11


def _of(value: Any) -> dict[str, Any]:
    """An identity in which this value stands."""
    config = Config(**{field.name: None for field in fields(Config)} | {"pretrain": PretrainSettings()})  # type: ignore[arg-type]
    return identity(_without_checks(config, value), HASH)


def _without_checks(config: Config, value: Any) -> Config:
    config.method = {"name": "control", "option": value}
    return config


def test_the_order_of_options_does_not_matter(make_config: MakeConfig) -> None:
    one, other_way = {"name": "marginal", "rate": 0.6}, {"rate": 0.6, "name": "marginal"}

    assert name_of(make_config(corruption=one)) == name_of(make_config(corruption=other_way))


def test_a_fingerprint_is_16_hexadecimal_digits_of_the_sha256_of_sorted_json() -> None:
    named = {"b": [1, 2.5, None], "a": {"ü": True}}
    text = '{"a": {"\\u00fc": true}, "b": [1, 2.5, null]}'

    assert json.loads(text) == named
    assert fingerprint(named) == hashlib.sha256(text.encode()).hexdigest()[:16] == "GOLDEN"


def test_an_identity_survives_json(make_config: MakeConfig) -> None:
    written = identity(make_config(), HASH)

    assert json.loads(json.dumps(written)) == written


def test_the_fingerprint_is_the_same_in_every_process(make_config: MakeConfig) -> None:
    code = (
        "import json, sys\n"
        "from scarf_lightning.results.identity import fingerprint\n"
        "fields = json.load(sys.stdin)\n"
        "print(fingerprint(fields), fingerprint(dict(reversed(fields.items()))), hash('a'))\n"
    )
    written = identity(make_config(), HASH)
    said = []
    for seed in ("1", "2"):
        ran = subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps(written),
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        said.append(ran.stdout.split())

    assert {name for names in said for name in names[:2]} == {fingerprint(written)}
    assert said[0][2] != said[1][2], "the seed of str hashes did not take"
