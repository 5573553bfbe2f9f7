import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest
from hydra.errors import HydraException
from hydra.types import RunMode
from hypothesis import example, given, seed, settings
from hypothesis import strategies as st
from omegaconf import open_dict

from scarf_lightning.config import Config, read
from scarf_lightning.errors import UsageError
from scarf_lightning.sweeping.composer import Composer
from tests.composing import CONF, composed, loader_and_master, names

UNSCALED = ("cc18-Bioresponse", "cc18-cnae-9", "cc18-optdigits")
SETTINGS = [
    (),
    ("scaling=minmax",),
    ("pretrain=add_noise_ae", "corruption.sigma=0.3"),
    ("pretrain=none", "method=xgboost"),
    ("method=cotrain", "corruption@cotrain.corruption=mean"),
    ("method=cotrain", "cotrain=vime"),
    ("pretrain=subtab", "method=cotrain", "cotrain=scarf", "corruption=mean"),
    ("regime=semi25", "method=self_train", "trials=3", "seed=4"),
    ("network.encoder={width:8,depth:2}",),
    ("++finetune.patience=null", "~pretrain.monitor"),
    ("paths.results=elsewhere",),
    ("paths.results=${dataset.name}",),
    ("dataset.name=mine",),
]
DATASETS = [UNSCALED[0], *(pytest.param(name, marks=pytest.mark.slow) for name in ("wdbc", "cc18-phoneme"))]


@pytest.fixture(scope="module")
def composer() -> Composer:
    """One for all that follows: what it has composed before must not show."""
    return Composer(*loader_and_master())


def in_full(*overrides: str) -> Config:
    """As Hydra alone composes it."""
    return read(composed(*overrides))


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("others", SETTINGS, ids=" ".join)
def test_a_cell_is_what_hydra_composes(composer: Composer, dataset: str, others: tuple[str, ...]) -> None:
    for overrides in ((f"dataset={dataset}", *others), (*others, f"dataset={dataset}")):
        assert composer(overrides) == in_full(*overrides)


@pytest.mark.parametrize("others", SETTINGS, ids=" ".join)
def test_also_without_a_dataset(composer: Composer, others: tuple[str, ...]) -> None:
    assert composer(others) == in_full(*others)


@pytest.mark.parametrize(
    "overrides",
    [
        ("dataset=openml", "dataset.id=31"),
        ("dataset.id=31", "dataset=openml"),
        ("dataset=csv", "dataset.path=t.csv", "dataset.target=kind", "seed=1"),
        ("dataset=wdbc", "dataset=cc18-phoneme"),
        ("dataset=wdbc", "trials=${dataset.id}"),
        ("seed=${dataset.id}", "dataset=cc18-phoneme"),
        ("+dataset.target=kind", "dataset=csv"),
        ("dataset=csv", "++dataset.target=kind"),
        ("dataset=cc18-phoneme", "~dataset.name"),
        ("dataset=wdbc", "dataset@dataset=cc18-phoneme"),
        ("dataset=wdbc", "dataset={name:mine}"),
        ("dataset=cc18-optdigits", "~scaling"),
        ("dataset=cc18-optdigits", "~scaling=zscore"),
        ("dataset=cc18-optdigits", "scaling.name=mean"),
        ("dataset=cc18-optdigits", "scaling@scaling=mean"),
        ("dataset=cc18-optdigits", "++scaling.name=mean"),
    ],
    ids=" ".join,
)
def test_what_depends_on_the_dataset_is_composed_with_it(composer: Composer, overrides: tuple[str, ...]) -> None:
    check(composer, overrides)


def check(composer: Composer, overrides: tuple[str, ...]) -> None:
    """The same configuration as in full, or both refuse."""
    try:
        expected = in_full(*overrides)
    except (UsageError, HydraException):
        with pytest.raises(UsageError):
            composer(overrides)
    else:
        assert composer(overrides) == expected


POOL = [
    *(f"dataset={name}" for name in ("wdbc", "cc18-phoneme", "cc18-optdigits", "csv")),
    *("dataset.name=mine", "+dataset.target=kind", "++dataset.path=t.csv", "~dataset.name"),
    *("scaling=mean", "scaling=none", "scaling.name=minmax", "~scaling"),
    *("pretrain=add_noise_ae", "pretrain=none", "pretrain.batch_size=32", "++pretrain.patience=null"),
    *(
        "corruption=gaussian",
        "corruption.rate=0.3",
        "corruption.sigma=0.2",
        "loss.temperature=0.5",
        "loss=barlow_twins",
    ),
    *(
        "method=mixup",
        "method.alpha=0.3",
        "method=cotrain",
        "cotrain=vime",
        "cotrain=subtab",
        "cotrain.weight=2",
        "corruption@cotrain.corruption=mean",
    ),
    *("cotrain.corruption.rate=0.2", "network.encoder.width=8", "network.encoder={depth:2}", "~pretrain.monitor"),
    *("trials=3", "seed=${trials}", "paths.results=a", "trainer.threads=2", "chunk.minutes=3", "cache.max_gb=0"),
]


REFERRING = [
    (),
    (
        (
            "train.yaml",
            "batch_size: ${batch_size}\n  learning_rate",
            "batch_size: ${pretrain.batch_size}\n  learning_rate",
        ),
    ),
    (("train.yaml", "seed: 0", "seed: ${trials}"), ("train.yaml", "trials: 5", "trials: ${finetune.patience}")),
    (("train.yaml", "results: results", "results: results/${dataset.name}"),),
    (("train.yaml", "max_epochs: 200", "max_epochs: ${oc.select:pretrain.max_epochs,7}"),),
    (
        ("corruption/gaussian.yaml", "0.5", "${corruption_sigma}"),
        ("train.yaml", "seed: 0", "seed: 0\ncorruption_sigma: 1"),
    ),
    (("cotrain/scarf.yaml", "weight: 1.0", "weight: ${loss.temperature}"),),
    (("network/mlp.yaml", "depth: 4", "depth: ${network.head.depth}"),),
    (("dataset/cc18-wdbc.yaml", "id: 1510", "id: ${seed}"),),
    (("scaling/minmax.yaml", "name: minmax", "name: ${.kind}\nkind: minmax"),),
]
"""Changes of files in the configuration, by which sections refer to each other: file, what stands there, what would."""
VALUES = {
    "dataset": ("wdbc", "cc18-wdbc", "cc18-optdigits", "csv"),
    "scaling": ("mean", "minmax"),
    "pretrain": ("none", "scarf_ae", "add_noise_ae"),
    "corruption": ("gaussian", "zero"),
    "method": ("mixup", "cotrain"),
    "dataset.name": ("mine",),
    "batch_size": (16, 64),
    "pretrain.batch_size": (32, "${finetune.batch_size}"),
    "pretrain.max_epochs": (9, "${finetune.max_epochs}"),
    "finetune.batch_size": (8, "${pretrain.batch_size}"),
    "finetune.patience": (4, "null"),
    "corruption.rate": (0.3, "${loss.temperature}"),
    "loss.temperature": (0.5,),
    "network.head.depth": (1, "${network.encoder.depth}"),
    "network.encoder.width": (8, "${seed}"),
    "cotrain.weight": (2,),
    "trials": (3,),
    "seed": (7, "${trials}"),
    "paths.results": ("elsewhere", "r/${seed}", "'r/${dataset.name}'"),
}


@st.composite
def any_overrides(draw: st.DrawFn) -> tuple[str, ...]:
    """In any order."""
    keys = draw(st.lists(st.sampled_from(sorted(VALUES)), max_size=5, unique=True))
    return tuple(f"{key}={draw(st.sampled_from(VALUES[key]))}" for key in keys)


def is_what_hydra_composes(variant: int, overrides: tuple[str, ...]) -> None:
    conf = conf_that_refers(variant)
    composer, (loader, _) = composer_of(conf), loader_and_master(conf)
    try:
        alone = loader.load_configuration("train", overrides=list(overrides), run_mode=RunMode.RUN)
        with open_dict(alone):
            del alone["hydra"]
        expected = read(alone)
    except (UsageError, HydraException):
        with pytest.raises(UsageError):
            composer(overrides)
    else:
        assert composer(overrides) == expected


@cache
def conf_that_refers(variant: int) -> Path:
    if not REFERRING[variant]:
        return CONF
    folder = Path(tempfile.mkdtemp()) / "conf"
    atexit.register(shutil.rmtree, folder.parent)
    shutil.copytree(CONF, folder)
    for name, before, after in REFERRING[variant]:
        text = (folder / name).read_text()
        assert before in text
        (folder / name).write_text(text.replace(before, after))
    return folder


@cache
def composer_of(conf: Path) -> Composer:
    return Composer(*loader_and_master(conf))


@settings(max_examples=5)
@given(st.integers(0, len(REFERRING) - 1), any_overrides())
@example(3, ("dataset=wdbc",))
@example(4, ("pretrain.max_epochs=9",))
def test_sections_that_refer_to_each_other_are_what_hydra_composes(variant: int, overrides: tuple[str, ...]) -> None:
    is_what_hydra_composes(variant, overrides)


@pytest.mark.slow
@pytest.mark.parametrize("variant", range(len(REFERRING)))
def test_any_overrides_and_references_give_what_hydra_gives(variant: int) -> None:
    """2,000 draws, others for each of the configurations."""

    @seed(variant)
    @settings(max_examples=2000 // len(REFERRING))
    @given(any_overrides())
    def check_drawn(overrides: tuple[str, ...]) -> None:
        is_what_hydra_composes(variant, overrides)

    check_drawn()


@pytest.mark.slow
@settings(max_examples=100)
@given(st.lists(st.sampled_from(POOL), max_size=6, unique=True))
def test_any_overrides_give_what_hydra_gives(overrides: list[str]) -> None:
    check(composer_of(CONF), tuple(overrides))


def test_a_batch_size_that_refers_to_another_follows_it() -> None:
    config = composer_of(conf_that_refers(1))(("pretrain.batch_size=32",))

    assert (config.pretrain.batch_size, config.finetune.batch_size) == (32, 32)


def test_one_batch_size_is_of_both_phases_unless_one_is_set(composer: Composer) -> None:
    both, one = composer(("batch_size=64",)), composer(("batch_size=64", "pretrain.batch_size=32"))

    assert (both.pretrain.batch_size, both.finetune.batch_size) == (64, 64)
    assert (one.pretrain.batch_size, one.finetune.batch_size) == (32, 64)


def test_every_dataset_on_its_own(composer: Composer) -> None:
    """The three that are never scaled say so, whatever was composed before them."""
    scaling = {name: composer((f"dataset={name}", "trials=2")).scaling["name"] for name in names("dataset")}

    assert {name for name, chosen in scaling.items() if chosen == "none"} == set(UNSCALED)
    assert composer((f"dataset={UNSCALED[0]}", "scaling=mean")).scaling["name"] == "mean"


@pytest.fixture
def made_in_full(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What is composed in full, call by call."""
    loader, _ = loader_and_master()
    seen: list[tuple[str, ...]] = []
    load = loader.load_sweep_config
    monkeypatch.setattr(loader, "load_sweep_config", lambda *given: seen.append(tuple(given[1])) or load(*given))
    return seen


def test_the_same_settings_on_more_datasets_cost_nothing(made_in_full: list[tuple[str, ...]]) -> None:
    composer = Composer(*loader_and_master())

    for name in ("wdbc", UNSCALED[0]):
        composer((f"dataset={name}", "seed=1", "corruption=mean"))
    before = list(made_in_full)
    for name in ("cc18-phoneme", "cc18-wilt", *UNSCALED):
        composer((f"dataset={name}", "seed=1", "corruption=mean"))

    assert made_in_full == before
    assert len(set(made_in_full)) == len(made_in_full)


def test_a_product_of_options_costs_their_sum(made_in_full: list[tuple[str, ...]]) -> None:
    composer = Composer(*loader_and_master())

    for rate in range(1, 5):
        for temperature in range(1, 4):
            composer(("dataset=wdbc", f"corruption.rate=0.{rate}", f"loss.temperature={temperature}"))

    assert len(made_in_full) <= 1 + 4 + 3


def test_what_is_made_of_parts_of_its_own_costs_no_more(made_in_full: list[tuple[str, ...]]) -> None:
    """Corruption and loss are a co-trained task's own."""
    composer = Composer(*loader_and_master())

    for task in ("scarf", "vime"):
        for rate in range(1, 5):
            composer(("dataset=wdbc", "method=cotrain", f"cotrain={task}", f"corruption.rate=0.{rate}"))

    assert len(made_in_full) <= 1 + 1 + 2 + 4


@pytest.mark.parametrize("overrides", [("corruption=nonsense",), ("dataset=wdbc", "seed=-1"), ("dataset=nonsense",)])
def test_what_cannot_be_composed_is_said_every_time(composer: Composer, overrides: tuple[str, ...]) -> None:
    said = set()
    for _ in range(2):
        with pytest.raises(UsageError) as caught:
            composer(overrides)
        said.add(str(caught.value))
    assert len(said) == 1
