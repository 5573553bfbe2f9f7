"""What names a cell: every option that changes its numbers, no other, and none that is added later."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import asdict, fields, make_dataclass
from importlib import import_module
from typing import Any

import pytest

from scarf_lightning.corruption.strategies import Marginal
from scarf_lightning.data.targets import Classes
from scarf_lightning.networks.mlp import MLP
from scarf_lightning.options import Config, Option, option, options_of, read, used_options
from scarf_lightning.options.axes import part
from scarf_lightning.options.combinations import NOT_SECTIONS, fit_to_target
from scarf_lightning.options.option import _options_of
from scarf_lightning.options.settings import (
    CacheSettings,
    ChunkSettings,
    DatasetSettings,
    FitSettings,
    LoggerSettings,
    PathSettings,
    TrainerSettings,
)
from scarf_lightning.results import columns, fingerprint
from tests.cells import DATA_HASH, identity_of, pretraining_identity_of
from tests.composing import config_of

PINNED = {
    "": ("2745686a393cf159", "78d9cebe124e942b"),
    "pretrain=none": ("92a6f1fe428f1a9b", "0b8b96ac62965708"),
    "pretrain=none regime=noise30 method=mixup": ("4539a48d3aabed4a", "0b8b96ac62965708"),
    "regime=semi25 scaling=minmax": ("1c843896da17e0ff", "99aa326c5104c5be"),
    "method=xgboost": ("18ade3d44f1bc60d", "0b8b96ac62965708"),
    "method=cotrain cotrain=subtab": ("7c4bbfd4f04b32ac", "0b8b96ac62965708"),
    "pretrain=subtab network=resnet": ("3779c311229211e1", "59a4a14a066e2880"),
    "loss=barlow_twins corruption=mean corruption.rate=0.3": ("4ad347226ac29f7b", "a92db6d3fa4531b2"),
    "pretrain=scarf_ae method=tri_train regime=semi25": ("4271a96cd8f6708a", "6b924b2383d2938a"),
    "pretrain=vime method=probe encoding=ordinal": ("ec5202fa0186d370", "684b064e43b471d5"),
    "pretrain=scarf_disc network=ft_transformer": ("9903bf3fc97e9c06", "17512fbe6f7603d6"),
    "recipe=practical finetune.folds=null seed=3 batch_size=64 finetune.metric=auroc": (
        "aa63eb4681d5d23c",
        "c64ac38f80c9c0c2",
    ),
}
"""Fingerprints of cells and of their pre-trainings, for science version 3. They must stay: each names results."""

EVERYTHING = (
    "method=cotrain pretrain=scarf regime=semi25 encoding=ordinal split=stratified "
    "finetune.patience=7 pretrain.weight_decay=0.1 finetune.weight_decay=0.1 finetune.label_smoothing=0.1 "
    "finetune.fixed_below=9"
)
"""A cell that uses an option of every group."""

OF_THE_RUN = {
    "dataset": DatasetSettings,
    "trainer": TrainerSettings,
    "logger": LoggerSettings,
    "paths": PathSettings,
    "cache": CacheSettings,
    "chunk": ChunkSettings,
}


def name_of(config: Config, data_hash: str = DATA_HASH) -> str:
    return fingerprint(identity_of(config, data_hash))


def with_value(config: Config, name: str, value: Any) -> Config:
    """The configuration with one option changed, and not checked."""
    changed = deepcopy(config)
    *groups, last = name.split(".")
    node: Any = changed
    for group in groups:
        if isinstance(node, dict):
            node = node[group]
        elif hasattr(node, group):
            node = getattr(node, group)
        else:
            node = node.options[group]
    if isinstance(node, dict):
        node[last] = value
    elif last in {each.name for each in fields(node)}:
        setattr(node, last, value)
    else:
        node.options[last] = value
    return changed


def another(known: Option, value: Any) -> Any:
    """A value that the option takes and that is not this one."""
    if known.choices and isinstance(value, str):
        return next((choice for choice in known.choices if choice != value), 1)
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)) or known.limits is not None:
        candidates: tuple[float, ...] = (1, 2, 0.5)
        if isinstance(value, (int, float)):
            candidates = (value + 1, value / 2, *candidates)
        return next(each for each in candidates if each != value and is_allowed(known, each))
    return "another"


def is_allowed(known: Option, value: float) -> bool:
    try:
        known.check(value)
    except ValueError:
        return False
    return True


def of_classes(overrides: str) -> Config:
    """A cell as it is trained on a table of classes."""
    return fit_to_target(config_of(*overrides.split()), Classes)


def test_pinned_fingerprints_stay() -> None:
    found = {
        overrides: (name_of(config), fingerprint(pretraining_identity_of(config, DATA_HASH)))
        for overrides in PINNED
        for config in [of_classes(overrides)]
    }
    assert found == PINNED


class TestAnOptionThatIsAddedLater:
    """It makes no other cell of a finished one, wherever it is added; set to another value, it makes another cell."""

    @pytest.fixture(autouse=True)
    def _caches_are_fresh(self) -> Iterator[None]:
        yield
        _options_of.cache_clear()

    @pytest.mark.parametrize(
        ("cls", "place", "added"),
        [
            (Marginal, "corruption.later", option(0.5, "a share that nobody thought of", "[0, 1]")),
            (MLP, "network.encoder.later", option(None, "a width that nobody thought of")),
            (FitSettings, "finetune.later", option(0.0, "label smoothing, say", "[0, 1)")),
        ],
        ids=lambda value: value.__name__ if isinstance(value, type) else "",
    )
    def test_to_a_class(self, cls: type, place: str, added: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        later = make_dataclass("Later", [("later", Any, added)], namespace={"__module__": __name__})
        line = later.__dataclass_fields__["later"]  # type: ignore[attr-defined]
        extended = [each for each in (cls, *_subclasses(cls)) if "__dataclass_fields__" in vars(each)]
        configs = {overrides: deepcopy(of_classes(overrides)) for overrides in PINNED}
        for each in extended:
            monkeypatch.setitem(each.__dataclass_fields__, "later", line)
            monkeypatch.setitem(each.__annotations__, "later", Any)
            monkeypatch.setattr(each, "later", line.default, raising=False)
        _options_of.cache_clear()
        assert "later" in options_of(cls)

        for overrides, config in configs.items():
            found = name_of(config), fingerprint(pretraining_identity_of(config, DATA_HASH))
            assert found == PINNED[overrides]

        usual = deepcopy(configs[""])
        assert place in columns(usual)
        assert name_of(with_value(usual, place, 0.25)) != name_of(usual)

    def test_results_that_were_stored_before_it_are_read_with_its_default(self) -> None:
        stored = asdict(config_of())
        del stored["finetune"]["schedule"], stored["corruption"]["rate"]

        assert name_of(read(stored)) == PINNED[""][0]


def _subclasses(cls: type) -> list[type]:
    return [found for each in cls.__subclasses__() for found in (each, *_subclasses(each))]


def _scientific() -> list[str]:
    config = config_of(*EVERYTHING.split())
    choices = {"split", "regime", "scaling", "encoding", "pretrain", "corruption", "selection", "views",
               "loss", "method", "network", "cotrain.task", "cotrain.corruption", "cotrain.loss",
               "precision"}  # fmt: skip
    return [each.name for each in used_options(config) if each.name not in choices]


def _option_named(name: str, config: Config) -> Option:
    """The line that an option of `EVERYTHING` has."""
    group, _, last = name.rpartition(".")
    parts = {
        "corruption": ("corruption", config.corruption), "cotrain.corruption": ("corruption", config.corruption),
        "loss": ("loss", config.loss), "cotrain.loss": ("loss", config.loss), "regime": ("regime", config.regime),
        "split": ("split", config.split), "encoding": ("encoding", config.encoding),
        "method": ("method", config.method),
        "network.encoder": ("network", {"name": config.network.name}),
    }  # fmt: skip
    if group in parts:
        axis, choice = parts[group]
        return options_of(part(axis, choice["name"]))[last]
    node: Any = config
    for key in group.split(".") if group else ():
        node = getattr(node, key)
    return options_of(type(node))[last]


def test_every_scientific_option_is_part_of_the_identity() -> None:
    config = config_of(*EVERYTHING.split())
    for name in _scientific():
        known = _option_named(name, config)
        value = {each.name: each.value for each in used_options(config)}[name]

        changed = with_value(config, name, another(known, value))

        assert name_of(changed) != name_of(config), name
        assert name in identity_of(changed, DATA_HASH) or name in identity_of(config, DATA_HASH)


def test_no_option_of_the_run_is_part_of_the_identity_but_the_precision() -> None:
    config = config_of(*EVERYTHING.split())
    of_the_run = {
        f"{group}.{each}": line for group, cls in OF_THE_RUN.items() for each, line in options_of(cls).items()
    }
    of_the_run |= {name: line for name, line in options_of(Config).items() if name in NOT_SECTIONS - {"plugins"}}
    assert len(of_the_run) > 20

    changes = {
        name
        for name, known in of_the_run.items()
        if name_of(with_value(config, name, another(known, known.default))) != name_of(config)
    }

    assert changes == {"trainer.precision"}


def test_the_data_and_the_science_version_are_part_of_the_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    before = name_of(config_of())

    assert name_of(config_of(), "1" * 64) != before
    monkeypatch.setattr(import_module("scarf_lightning.results.identity"), "SCIENCE_VERSION", 10**6)
    assert name_of(config_of()) != before


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (
            "pretrain=none",
            "pretrain=none corruption=mean selection=shared views=both loss.temperature=0.1 cotrain=scarf_ae "
            "pretrain.batch_size=32 network.pretrain_head.depth=5",
            True,
        ),
        ("method=xgboost", "method=xgboost finetune.batch_size=64 network.encoder.width=8 encoding=ordinal", True),
        ("learning_rate=0.01 max_epochs=9", "pretrain={learning_rate:0.01,max_epochs:9} "
         "finetune.learning_rate=0.01 finetune.max_epochs=9", True),
        ("loss.temperature=1", "loss.temperature=1.0", True),
        ("trials=3", "trials=30 trainer.threads=4 paths.results=elsewhere keep_weights=true", True),
        (
            "recipe=practical",
            "fit_on=train encoding.gaps=true finetune.fixed_below=1000 finetune.fixed_below_numbers=0 "
            "finetune.weight_decay=0.01 finetune.schedule=cosine finetune.min_steps=300 finetune.folds=3 "
            "finetune.fold_average=true finetune.fold_caution=1 finetune.fold_every=20 "
            "finetune.label_smoothing=0.1 finetune.patience=20 finetune.ties=last "
            "split.copies=together regime.validation=inside",
            True,
        ),
        ("method=xgboost", "method=xgboost method.max_depth=4", False),
    ],
)  # fmt: skip
def test_cells_are_one_where_what_they_use_is_equal(one: str, other: str, is_same: bool) -> None:
    assert (name_of(config_of(*one.split())) == name_of(config_of(*other.split()))) is is_same


AWARE = "pretrain=target_aware regime=few"
"""A pre-training that uses labels."""


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        *(("pretrain=scarf", f"pretrain=scarf {each}", True) for each in ("method=mixup", "regime=semi25",
          "network.head.depth=3", "finetune.patience=9")),
        ("", "method=mixup", True),
        ("", "regime=semi25", False),
        ("", "network.head.width=32", False),
        ("", "regime.validation=inside", False),
        ("", "finetune.monitor=none", True),
        ("regime.validation=inside", "regime.validation=inside finetune.monitor=none", False),
        ("regime.validation=inside", "regime.validation=inside finetune.fixed_below=50", False),
        ("regime.validation=inside", "regime.validation=inside finetune.patience=9 method=dropout", True),
        (
            "regime.validation=inside finetune.monitor=none",
            "regime.validation=inside finetune.patience=null finetune.restore_best=false",
            True,
        ),
        ("pretrain=scarf pretrain.rows=50", "pretrain=scarf pretrain.rows=50 regime=semi25", True),
        # Probes in curves are of labels; those of its end are measured by each cell.
        ("pretrain=scarf pretrain.probe=5", "pretrain=scarf pretrain.probe=5 regime=semi25", False),
        ("pretrain=scarf pretrain.probe=0", "pretrain=scarf regime=semi25", True),
    ],
)  # fmt: skip
def test_a_pretraining_is_shared_and_one_that_uses_labels_by_those_of_the_same_labels(
    one: str, other: str, is_same: bool
) -> None:
    first, second = (
        fingerprint(pretraining_identity_of(config_of(*(() if "scarf" in each else AWARE.split()), *each.split()), ""))
        for each in (one, other)
    )
    assert (first == second) is is_same


FILE = ("dataset=csv", "dataset.path=a.csv", "dataset.target=y")


def test_the_columns_of_a_cell_are_its_used_options_and_its_reading() -> None:
    found = columns(config_of("finetune.patience=null"))

    assert (found["corruption"], found["corruption.rate"], found["finetune.patience"]) == ("marginal", 0.6, "null")
    assert not any(name.startswith("cotrain") for name in found)
    assert "corruption.rate" not in columns(config_of("pretrain=none"))

    # The hash of the data holds what they do.
    plain, dropped = config_of(*FILE), config_of(*FILE, "dataset.drop=[a b]", "dataset.decimal=','")

    assert name_of(plain) == name_of(dropped)
    assert columns(dropped) == columns(plain) | {"dataset.drop": "[a b]", "dataset.decimal": ","}
    assert columns(config_of(*FILE, "dataset.drop=[]")) == columns(plain)
