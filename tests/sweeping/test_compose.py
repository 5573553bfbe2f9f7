"""Cells are what Hydra alone composes, though each choice is composed once for all others, values and datasets."""

import math
import re
from pathlib import Path
from typing import Any

import pytest
from hydra import compose
from hydra.errors import HydraException
from omegaconf import DictConfig

from scarf_lightning.errors import UsageError
from scarf_lightning.options import Config
from scarf_lightning.sweeping import expand
from scarf_lightning.sweeping.compose import (
    Composer,
    named_plugins,
    overrides_of_options,
    parsed,
    usage_error,
    values_of,
)
from tests.composing import ROOT, cells_of, checked_by_itself, composed, config_of, names, request_of

SWEEP_FILES = sorted(file for folder in ("sweeps", "paper/sweeps", "study") for file in (ROOT / folder).glob("*.yaml"))
UNSCALED = ("cc18-Bioresponse", "cc18-cnae-9", "cc18-optdigits")
MOST_CELLS = 16
"""Of a sweep that are compared."""


def in_full(overrides: tuple[str, ...]) -> Config | None:
    """As Hydra alone composes it, or None where it is wrong."""
    try:
        return checked_by_itself(composed(*overrides))
    except (HydraException, ValueError):  # of which ours are
        return None


SETTINGS = [
    "recipe=practical finetune.patience=4 scaling=none", "corruption=marginal pretrain=add_noise_ae", "finetune=3",
    "batch_size=64 pretrain.batch_size=32", "method=cotrain corruption@cotrain.corruption=mean", "scaling=minmax",
    "pretrain=subtab method=cotrain cotrain=scarf corruption=mean", "paths.results=${dataset.name}", "trials=???",
    "method=mixup regime=few network.encoder={width:8,depth:2}", "seed=${trials} trials=3", "+seed=3", "plugins=3",
    "seed=3 finetune.patience=null force=true pretrain.learning_rate=1e-4", "metric=f1", "finetune.nothing=3", "~seed",
    "finetune.metric=f1 metric=auroc", "nothing.at.all=3", "seed.more=3", "network.encoder=3", "dataset.name=mine",
    "++seed=3 method=mixup", "pretrain=none method=xgboost", "method=nonsense", "nonsense=mixup", "seed=[1,2]",
    "logger=wandb trainer=cpu logger.wandb.mode=offline", "corruption=by_pretrain/swap pretrain=vime regime=few",
    "scaling=by_data/paper method=mixup", "pretrain=scarf method=scarf_augment scaling=minmax",
    "recipe=realmlp method=xgboost scaling=zscore", "pretrain=vime loss=barlow_twins corruption=mean views=both",
]  # fmt: skip
OF_A_DATASET = [
    "dataset=cc18-Bioresponse", "dataset=openml dataset.id=31", "dataset=openml scaling=mean",
    "dataset=csv dataset.path=t.csv dataset.target=kind seed=1", "dataset=wdbc dataset=cc18-phoneme",
    "+dataset.target=kind dataset=csv", "dataset=cc18-phoneme ~dataset.name", "dataset=wdbc dataset={name:mine}",
    "dataset=cc18-optdigits scaling.name=mean", "seed=${dataset.id} dataset=cc18-phoneme",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides", [*SETTINGS, *(f"dataset=cc18-phoneme {each}" for each in SETTINGS), *OF_A_DATASET]
)
def test_a_cell_is_what_hydra_composes(overrides: str) -> None:
    expected = in_full(tuple(overrides.split()))
    if expected is None:
        with pytest.raises(UsageError):
            config_of(*overrides.split())
    else:
        assert config_of(*overrides.split()) == expected


@pytest.mark.slow
@pytest.mark.parametrize("file", SWEEP_FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_the_cells_of_every_sweep_are_what_hydra_composes(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each setting on one of its datasets, and on each that is never scaled; of large sweeps some of these."""
    # The sweep of columns is for a table of the user's.
    monkeypatch.setattr(expand, "distinct", list)
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


@pytest.mark.slow
def test_a_setting_is_composed_once_for_all_values_and_datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, ...]] = []

    def noted(config_name: str, overrides: list[str], **named: bool) -> DictConfig:
        made.append(tuple(overrides))
        return compose(config_name, overrides, **named)

    monkeypatch.setattr("scarf_lightning.sweeping.compose.compose", noted)
    composer = Composer()

    for seed in (1, 2):
        for name in ("wdbc", "cc18-phoneme", *UNSCALED[:2]):
            for method in ("mixup", "distill"):
                composer((f"dataset={name}", f"seed={seed}", "pretrain=scarf_ae", f"method={method}"))

    assert made == [("pretrain=scarf_ae", "method=mixup"), ("pretrain=scarf_ae", "method=distill")]


def test_choices_that_change_one_section_are_composed_together() -> None:
    """Method scarf_augment overrides the pre-training, which is the user's here."""
    assert config_of("pretrain=scarf", "method=scarf_augment").pretrain.name == "scarf"
    assert config_of("method=scarf_augment", "scaling=minmax").pretrain.name == "none"


@pytest.mark.parametrize("overrides", [("corruption=nonsense",), ("dataset=wdbc", "seed=-1"), ("dataset=nonsense",)])
def test_what_cannot_be_composed_is_refused_every_time(overrides: tuple[str, ...]) -> None:
    for _ in range(2):
        with pytest.raises(UsageError, match=r"nonsense is not an option|seed=-1: it takes a number"):
            config_of(*overrides)


PRACTICAL = "# @package _global_\ndefaults:\n  - override /recipe: practical\n"
AS_A_RECIPE = "# @package _global_\ndefaults:\n  - practical\n  - _self_\n"


@pytest.mark.parametrize(
    ("file", "content", "written_out"),
    [
        ("experiment/mine", "finetune: {max_epochs: 2}\n", "finetune.max_epochs=2"),
        ("experiment/mine", "max_epochs: 2\n", "max_epochs=2"),
        ("experiment/mine", "finetune: {max_epochs: 2, min_steps: 9}\n", "finetune.max_epochs=2 finetune.min_steps=9"),
        ("experiment/mine", "seed: ${dataset.id}\n", "seed=1510"),
        ("recipe/mine", "pretrain:\n  max_epochs: 3\n", "pretrain.max_epochs=3"),
    ],
)
def test_a_users_file_is_its_options_written_out(file: str, content: str, written_out: str, tmp_path: Path) -> None:
    path = tmp_path / f"{file}.yaml"
    path.parent.mkdir()
    is_recipe = file == "recipe/mine"
    path.write_text((AS_A_RECIPE if is_recipe else PRACTICAL) + content)

    found = Composer((), tmp_path)(("dataset=wdbc", "recipe=mine" if is_recipe else "+experiment=mine"))

    expected = config_of("dataset=wdbc", "recipe=practical", *written_out.split())
    assert (found.pretrain, found.finetune, found.seed) == (expected.pretrain, expected.finetune, expected.seed)


def test_a_number_of_epochs_is_the_largest_though_it_is_the_default() -> None:
    assert config_of("recipe=practical").finetune.min_steps > 200
    for written in ("max_epochs=200", "finetune.max_epochs=200"):
        assert config_of("recipe=practical", written).finetune.min_steps == 200
    assert config_of("recipe=practical", "finetune={}") == config_of("recipe=practical")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["seed=3"], []),
        (["plugins=[a,b]", "seed=3"], ["a", "b"]),
        (["plugins=[a]", "plugins=[b]"], ["b"]),
        # A text is refused later, and not its parts as unknown before.
        (["plugins=a"], ["a"]),
    ],
)
def test_plugins_are_those_of_the_last_list(arguments: list[str], expected: list[str]) -> None:
    assert named_plugins(arguments) == expected


@pytest.mark.parametrize(
    ("overrides", "pretrain", "finetune"),
    [
        ("", (1000, 0.001, 128), (200, 0.001, 128)),
        ("max_epochs=5", (5, 0.001, 128), (5, 0.001, 128)),
        ("max_epochs=5 pretrain.max_epochs=7", (7, 0.001, 128), (5, 0.001, 128)),
        ("learning_rate=0.01 batch_size=64", (1000, 0.01, 64), (200, 0.01, 64)),
        ("batch_size=64 finetune.batch_size=32", (1000, 0.001, 64), (200, 0.001, 32)),
    ],
)
def test_an_option_of_both_phases_is_each_ones_unless_it_has_its_own(
    overrides: str, pretrain: tuple[Any, ...], finetune: tuple[Any, ...]
) -> None:
    config = config_of(*overrides.split())
    for settings, expected in ((config.pretrain, pretrain), (config.finetune, finetune)):
        assert (settings.max_epochs, settings.learning_rate, settings.batch_size) == expected


def test_an_option_of_both_phases_is_refused_where_no_phase_is_trained() -> None:
    for name in ("batch_size", "learning_rate", "max_epochs"):
        with pytest.raises(UsageError, match=rf"^{name} is set, but no cell of this run uses it"):
            cells_of("method=xgboost", f"{name}=3")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("corruption=means", ["corruption=means is not an option. Did you mean mean?", ", ".join(names("corruption"))]),
        ("trials.a=1", ["trials.a is not an option"]),
        ("logger._target_=a.B", ["logger._target_ is not an option.", "+logger.mine._target_=CLASS"]),
        ("patience=5", ["Did you mean pretrain.patience or finetune.patience?", "scarf train --cfg job lists them."]),
    ],
)
def test_what_hydra_refuses_is_one_sentence_with_the_options_there_are(override: str, words: list[str]) -> None:
    with pytest.raises(HydraException) as caught:
        composed(override)
    sentence = str(usage_error(caught.value))
    assert all(each in sentence for each in words), sentence
    assert "\n" not in sentence
    assert sentence.endswith(".")


def test_an_interpolation_that_leads_nowhere_is_named() -> None:
    with pytest.raises(UsageError, match=r"^paths\.results: .*\.$"):
        config_of("paths.results=${nowhere}")


def test_the_openml_cache_is_the_one_that_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENML_CACHE_DIR", "elsewhere")
    assert checked_by_itself(composed()).paths.openml == "elsewhere"


@pytest.mark.parametrize(
    ("arguments", "scaling"),
    [
        ("dataset=wdbc", "zscore"),
        ("dataset=openml dataset.id=31", "zscore"),
        # Three datasets of the paper are not scaled.
        ("dataset=openml dataset.id=28", "none"),
        ("dataset=openml dataset.id=4134", "none"),
        ("dataset=openml dataset.id=28 scaling=minmax", "minmax"),
    ],
)
def test_a_dataset_brings_its_scaling_unless_the_user_says_so(arguments: str, scaling: str) -> None:
    assert config_of(*arguments.split()).scaling == {"name": scaling}


@pytest.mark.parametrize("target", ["plan", "plan = b", "2020", "null", "it's", "größe"])
def test_a_text_is_read_as_it_was_written(target: str) -> None:
    arguments = overrides_of_options({"dataset": {"path": "my table, (1).csv", "target": target}})
    assert [each.value() for each in parsed(arguments)] == ["my table, (1).csv", target]


@pytest.mark.parametrize(
    "argument",
    ["corruption=3", "+loss=null", "loss@cotrain.loss=3", "corruption=[mean,marginal]", "loss=[]", "~corruption"],
)
def test_an_axis_is_chosen_by_name(argument: str) -> None:
    with pytest.raises(UsageError, match=rf"^{re.escape(argument)}: \w+ is chosen by name"):
        parsed(["trials=3", "corruption=mean,marginal", argument])


def test_loggers_are_chosen_together_and_a_dictionary_sets_options() -> None:
    assert len(parsed(["logger=[csv,wandb]", "corruption={rate:0.3}", "dataset=glob(cc18-*)"])) == 3


@pytest.mark.parametrize("argument", ["my option=3", "a&b=1", "quick", "dataset.target=Größe", "dataset.path=(1).csv"])
def test_what_is_no_option_is_refused(argument: str) -> None:
    with pytest.raises(UsageError, match=r" is no option; write OPTION=VALUE or OPTION=A,B without blanks"):
        parsed(["trials=3", argument])


def test_an_option_of_a_command_has_one_value() -> None:
    assert values_of(["metric=auroc", "dataset=wdbc", "seed=0,1"], ["metric"]) == {"metric": "auroc"}
    with pytest.raises(UsageError, match="out=a,b: one value"):
        values_of(["out=a,b"], ["out"])
