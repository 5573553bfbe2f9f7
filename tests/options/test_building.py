"""The objects that a configuration names, and nothing else."""

from dataclasses import asdict, replace
from typing import Any

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.options import BASES, build_parts, read
from scarf_lightning.options.building import build
from scarf_lightning.options.settings import PretrainSettings
from tests.composing import config_of


@pytest.mark.parametrize("option", ["name", "_target_", "__class__"])
def test_a_configuration_cannot_name_code(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    monkeypatch.setattr("os.system", lambda *given: ran.append(given))
    for place in (*BASES, "cotrain.corruption", "cotrain.loss"):
        values = asdict(config_of("method=cotrain", "pretrain=scarf"))
        node: Any = values
        for key in place.split("."):
            node = node[key]
        node[option] = "os.system"
        unknown = rf"name=os\.system is unknown\. The options|{option} is not an option\. The options"
        named = rf"^{place}(\.encoder)?\.({unknown}|_target_=os\.system: parts are built by their name)"
        with pytest.raises(UsageError, match=named):
            build_parts(read(values))
    assert not ran


def test_only_the_parts_that_a_cell_uses_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []

    def spied(axis: str, choice: Any, place: str | None = None, *others: Any, **composed: Any) -> Any:
        built.append(place or axis)
        return build(axis, choice, place, *others, **composed)

    monkeypatch.setattr("scarf_lightning.options.building.build", spied)

    def parts_of(*overrides: str) -> set[str]:
        built.clear()
        parts = build_parts(config_of(*overrides))
        assert (parts.pretext is None) == ("pretrain" not in built)
        return set(built) - {"encoding", "method", "network.encoder", "regime", "scaling", "split"}

    assert parts_of("pretrain=none") == set()
    assert parts_of("pretrain=scarf") == {"pretrain", "corruption", "selection", "loss"}
    assert parts_of("pretrain=vime") == {"pretrain", "corruption", "selection"}
    assert parts_of("method=scarf_augment") == {"corruption", "selection"}
    assert parts_of("method=cotrain") == {"cotrain", "cotrain.corruption", "cotrain.selection", "cotrain.loss"}


def test_a_pretexts_own_options_stand_beside_the_common_ones() -> None:
    config = config_of("pretrain=vime", "pretrain.alpha=0.5", "pretrain.patience=1")

    assert (config.pretrain.options, config.pretrain.patience) == ({"alpha": 0.5}, 1)
    pretext: Any = build_parts(config).pretext
    assert pretext.alpha == 0.5
    with pytest.raises(UsageError, match=r"^pretrain\.alpha=-1\.0: it takes a number in \(0, inf\)\.$"):
        config_of("pretrain=vime", "pretrain.alpha=-1")


def test_the_parts_of_co_training_and_augmentation_are_what_the_configuration_names() -> None:
    overrides = (
        "method=cotrain pretrain=scarf views=both selection=shared cotrain.weight=0.5 "
        "corruption@cotrain.corruption=zero cotrain.corruption.rate=0.2"
    )
    config = config_of(*overrides.split())

    parts = build_parts(config)

    pretext, method = parts.pretext, parts.method
    assert pretext is not None
    task: Any = method.pretext  # type: ignore[attr-defined]
    assert (pretext.corruption.name, task.corruption.name, task.corruption.rate) == ("marginal", "zero", 0.2)
    assert (method.weight, task.loss.name, task.views, task.selection.name) == (0.5, "infonce", "both", "shared")  # type: ignore[attr-defined]

    alone = replace(config, method={"name": "scarf_augment"}, corruption={"name": "joint", "rate": 0.4})
    augment: Any = build_parts(replace(alone, pretrain=PretrainSettings(name="none"))).method
    assert (augment.corruption.name, augment.corruption.rate, augment.selection.name) == ("joint", 0.4, "shared")
