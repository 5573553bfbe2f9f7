"""Cells are what Hydra alone composes, though each choice of files is composed once for all values and datasets."""

import math
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hydra import compose
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig

from scarf_lightning.errors import UsageError
from scarf_lightning.options import Config
from scarf_lightning.sweeping.composer import Composer
from scarf_lightning.sweeping.hydra import read_config
from tests.composing import CONF, ROOT, config_of, loader_of, request_of

SWEEP_FILES = sorted(file for folder in ("sweeps", "paper/sweeps", "study") for file in (ROOT / folder).glob("*.yaml"))
UNSCALED = ("cc18-Bioresponse", "cc18-cnae-9", "cc18-optdigits")
MOST_CELLS = 16
"""Of a sweep that are compared."""
GLOBAL = "# @package _global_\n"
"""The first line of a file that names its sections itself."""


@cache
def in_full(overrides: tuple[str, ...]) -> Config | None:
    """As Hydra alone composes it, or None where it is wrong."""
    loader = loader_of()
    try:
        return read_config(loader.load_configuration("train", overrides=list(overrides), run_mode=RunMode.RUN))
    except (HydraException, ValueError):  # of which ours are
        return None


def check(*overrides: str) -> None:
    """The same configuration as in full, or both refuse; what was composed before does not show."""
    expected = in_full(overrides)
    if expected is None:
        with pytest.raises(UsageError):
            config_of(*overrides)
    else:
        assert config_of(*overrides) == expected


ONE_OF_EACH_KIND = [
    "dataset=cc18-phoneme ++finetune.patience=null ~pretrain.batch_size",
    "seed=${dataset.id} dataset=cc18-phoneme",
    "recipe=practical finetune.patience=4 scaling=none",
    "corruption=marginal pretrain=add_noise_ae",
    "finetune=3",
]
SETTINGS = [
    "batch_size=64 pretrain.batch_size=32", "method=cotrain corruption@cotrain.corruption=mean",
    "scaling=minmax", "pretrain=subtab method=cotrain cotrain=scarf corruption=mean",
    "method=mixup regime=few network.encoder={width:8,depth:2}", "paths.results=${dataset.name}",
    "dataset.name=mine",
    "seed=3 finetune.patience=null paths.results=folder force=true pretrain.learning_rate=1e-4", "metric=f1",
    "finetune.metric=f1 metric=auroc", "network.encoder.depth=2 network.encoder.width=16",
    "seed=${trials} trials=3", "trials=???", "finetune.nothing=3", "nothing.at.all=3", "seed.more=3",
    "regime.name.more=3 method=mixup", "network.encoder=3 method=mixup", "plugins=[] seed=1", "plugins=3",
    "seed=[1,2]", "+seed=3", "++seed=3 method=mixup", "~seed", "method=mixup method=distill",
    "pretrain=none method=xgboost",
    "pretrain=vime selection=exact regime=few", "method=nonsense regime=few", "method=null regime=few",
    "nonsense=mixup regime=few", "logger=wandb trainer=cpu logger.wandb.mode=offline",
    "corruption=by_pretrain/swap pretrain=vime regime=few", "scaling=by_data/paper method=mixup",
]  # fmt: skip
OF_A_DATASET = [
    "dataset=cc18-Bioresponse",
    "dataset=openml dataset.id=31", "dataset=csv dataset.path=t.csv dataset.target=kind seed=1",
    "dataset=openml scaling=mean", "dataset=wdbc dataset=cc18-phoneme", "+dataset.target=kind dataset=csv",
    "dataset=cc18-phoneme ~dataset.name", "dataset=wdbc dataset@dataset=cc18-phoneme",
    "dataset=wdbc dataset={name:mine}", "dataset=cc18-optdigits ~scaling",
    "dataset=cc18-optdigits scaling.name=mean", "dataset=cc18-optdigits ++scaling.name=mean",
]  # fmt: skip


def slow(*case: str) -> Any:
    return pytest.param(*case, marks=pytest.mark.slow)


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides",
    [
        *ONE_OF_EACH_KIND,
        *map(slow, SETTINGS),
        *(slow(f"dataset=cc18-phoneme {each}") for each in SETTINGS),
        *map(slow, OF_A_DATASET),
    ],
)
def test_a_cell_is_what_hydra_composes(overrides: str) -> None:
    check(*overrides.split())


@pytest.fixture
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of `conf/` that tests write to."""
    conf = shutil.copytree(CONF, tmp_path / "conf")
    monkeypatch.setattr("scarf_lightning.sweeping.hydra.CONF", conf)
    monkeypatch.setattr("scarf_lightning.sweeping.composer.CONF", conf)
    return conf


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("train.yaml", "\ntrials: 10 #", "\ntrials: ${dataset.id} #"),
        ("dataset/cc18-wdbc.yaml", "id: 1510", "id: ${seed}"),
        ("scaling/minmax.yaml", "name: minmax", "name: ${oc.select:dataset.kind,minmax}"),
    ],
)
def test_files_that_refer_to_the_dataset_are_composed_with_it(file: str, before: str, after: str, conf: Path) -> None:
    text = (conf / file).read_text()
    assert before in text
    (conf / file).write_text(text.replace(before, after))
    loader, composer = loader_of(conf), Composer()

    for dataset in ("cc18-wdbc", "cc18-phoneme"):
        asked = [f"dataset={dataset}", "scaling=minmax", "seed=3"]
        alone = loader.load_configuration("train", overrides=asked, run_mode=RunMode.RUN)
        assert composer(tuple(asked)) == read_config(alone)


@pytest.mark.slow
@pytest.mark.parametrize("file", SWEEP_FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_the_cells_of_every_sweep_are_what_hydra_composes(file: Path) -> None:
    """Each setting on one of its datasets, and on each that is never scaled; of large sweeps some of these."""
    settings_seen, to_check = set[tuple[str, ...]](), []
    for cell in request_of(f"sweeps={file}", "max_cells=null").cells:
        setting = tuple(each for each in cell.overrides if not each.startswith("dataset="))
        dataset = set(cell.overrides) - set(setting)
        if setting not in settings_seen or dataset & {f"dataset={name}" for name in UNSCALED}:
            settings_seen.add(setting)
            to_check.append(cell)
    assert to_check
    # The last cell, too: composing one takes a tenth of a second.
    for cell in [*to_check[:: math.ceil(len(to_check) / MOST_CELLS)], to_check[-1]]:
        assert cell.config == in_full(cell.overrides), cell.label


@pytest.fixture
def noting(monkeypatch: pytest.MonkeyPatch) -> tuple[Composer, list[tuple[str, ...]]]:
    """A composer of its own, and the choices of each composition by Hydra."""
    composed: list[tuple[str, ...]] = []

    def noted(config_name: str, overrides: list[str], **named: bool) -> DictConfig:
        composed.append(tuple(overrides))
        return compose(config_name, overrides, **named)

    monkeypatch.setattr("scarf_lightning.sweeping.composer.compose", noted)
    return Composer(), composed


@pytest.mark.slow
def test_the_choices_of_a_setting_are_composed_once_for_all_values_and_datasets(
    noting: tuple[Composer, list[tuple[str, ...]]],
) -> None:
    composer, composed = noting

    for seed in (1, 2):
        for name in ("wdbc", "cc18-phoneme", *UNSCALED[:2]):
            for method in ("mixup", "distill"):
                composer((f"dataset={name}", f"seed={seed}", "pretrain=scarf_ae", f"method={method}"))
    composer((f"dataset={UNSCALED[0]}", "scaling=none", "method=mixup"))

    settings = [("pretrain=scarf_ae", f"method={method}") for method in ("mixup", "distill")]
    # The file of a dataset that the paper does not scale chooses its scaling.
    assert sorted(composed) == sorted([*settings, ("scaling=none",), ("scaling=none", "method=mixup")])


@pytest.mark.parametrize("overrides", [("corruption=nonsense",), ("dataset=wdbc", "seed=-1"), ("dataset=nonsense",)])
def test_what_cannot_be_composed_is_refused_every_time(overrides: tuple[str, ...]) -> None:
    for _ in range(2):
        with pytest.raises(UsageError, match=r"nonsense is not an option|seed=-1: it takes a number"):
            config_of(*overrides)


def test_options_of_hydras_own_section_are_refused_that_would_lose_results() -> None:
    with pytest.raises(UsageError, match=r"^hydra\.job\.chdir=true: results"):
        Composer(["hydra.job.chdir=true"])


PRACTICAL = "defaults:\n  - override /recipe: practical\n"
AS_A_RECIPE = "defaults:\n  - practical\n  - _self_\n"


@pytest.mark.parametrize(
    ("file", "content", "asked", "written_out"),
    [
        (
            "experiment/mine", f"{GLOBAL}{PRACTICAL}finetune: {{max_epochs: 2}}\n",
            "+experiment=mine", "finetune.max_epochs=2",
        ),
        ("experiment/mine", f"{GLOBAL}{PRACTICAL}max_epochs: 2\n", "+experiment=mine", "max_epochs=2"),
        (
            "experiment/mine", f"{GLOBAL}{PRACTICAL}finetune: {{max_epochs: 2, min_steps: 9}}\n",
            "+experiment=mine", "finetune.max_epochs=2 finetune.min_steps=9",
        ),
        ("recipe/mine", f"{GLOBAL}{AS_A_RECIPE}pretrain:\n  max_epochs: 3\n", "recipe=mine", "pretrain.max_epochs=3"),
    ],
)  # fmt: skip
def test_epochs_of_a_users_file_are_the_largest_as_those_of_the_command_line(
    file: str, content: str, asked: str, written_out: str, tmp_path: Path
) -> None:
    path = tmp_path / f"{file}.yaml"
    path.parent.mkdir()
    path.write_text(content)
    found = Composer((), tmp_path)((asked,))
    expected = config_of("recipe=practical", *written_out.split())
    assert (found.pretrain, found.finetune) == (expected.pretrain, expected.finetune)


def test_epochs_in_a_dictionary_are_the_largest_too() -> None:
    for written, options in (("max_epochs:3", ["finetune.max_epochs=3"]), ("", [])):
        found = config_of("recipe=practical", f"finetune={{{written}}}")
        assert found.finetune == config_of("recipe=practical", *options).finetune
