"""The door to Hydra: files with the defaults of classes, options of both phases, and what depends on the data."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hydra.errors import HydraException

from scarf_lightning.errors import UsageError
from scarf_lightning.options.settings import FinetuneSettings, PretrainSettings
from scarf_lightning.sweeping.composer import Composer
from scarf_lightning.sweeping.hydra import named_plugins, read_config, usage_error
from tests.composing import cells_of, composed, config_of, names

PLUGIN = """
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from scarf_lightning.data.preprocessing import Scaling
from scarf_lightning.networks import Network
from scarf_lightning.options import option


@dataclass
class Halves(Scaling):
    name: ClassVar[str] = "halves"
    factor: float = option(0.5, "what a value is multiplied by")

    def statistics(self, values):
        return values.mean(axis=0) * 0, values.mean(axis=0) * 0 + 1 / self.factor


@dataclass
class Straight(Network):
    name: ClassVar[str] = "straight"
    units: int = option(7, "of the layer")

    def build(self, columns, dropout):
        return nn.Linear(columns.n_encoded, self.units)
"""


@pytest.mark.slow
def test_a_file_of_the_users_may_leave_options_out_and_begins_with_ours_to_have_them(in_tmp: Path) -> None:
    (in_tmp / "corruption").mkdir()
    (in_tmp / "corruption" / "short.yaml").write_text("name: mean\n")
    (in_tmp / "corruption" / "whole.yaml").write_text("defaults: [mean, _self_]\nrate: 0.3\n")
    folder = f"hydra.searchpath=[file://{in_tmp}]"

    assert read_config(composed(folder, "corruption=short")).corruption == {"name": "mean", "keep": None, "rate": 0.6}
    assert read_config(composed(folder, "corruption=whole")).corruption == {"name": "mean", "keep": None, "rate": 0.3}
    assert read_config(composed(folder, "corruption=short", "+corruption.rate=0.2")).corruption["rate"] == 0.2
    sentence = str(
        usage_error(refusal(HydraException, lambda: composed(folder, "corruption=short", "corruption.rate=1")))
    )
    assert sentence == "corruption.rate is not an option. The options of corruption are: name."


@pytest.mark.slow
def test_a_part_of_a_plugin_is_an_option_of_its_axis(in_tmp: Path) -> None:
    (in_tmp / f"offered_{in_tmp.name}.py").write_text(PLUGIN)
    named = f"plugins=[offered_{in_tmp.name}]"

    config = Composer([named])((named, "scaling=halves", "scaling.factor=0.25", "network=straight"))

    assert config.scaling == {"name": "halves", "factor": 0.25}
    assert (config.network.name, config.network.encoder, config.network.head.width) == ("straight", {"units": 7}, 256)
    assert named_plugins([named, "seed=3"]) == [f"offered_{in_tmp.name}"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (["seed=3", "+plugins=[a]"], []),
        (["plugins=[a,b]", "seed=3"], ["a", "b"]),
        (["plugins=[a]", "plugins=[b]"], ["b"]),
        (["plugins=a"], []),
    ],
)
def test_plugins_are_those_of_the_last_list(asked: list[str], expected: list[str]) -> None:
    assert named_plugins(asked) == expected


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

    def of(settings: PretrainSettings | FinetuneSettings) -> tuple[Any, ...]:
        return settings.max_epochs, settings.learning_rate, settings.batch_size

    assert (of(config.pretrain), of(config.finetune)) == (pretrain, finetune)


def test_an_option_of_both_phases_is_refused_where_no_phase_is_trained() -> None:
    for name in ("batch_size", "learning_rate", "max_epochs"):
        with pytest.raises(UsageError, match=rf"^{name} is set, but no cell of this run uses it"):
            cells_of("method=xgboost", f"{name}=3")


def refusal(error: type[Exception], act: Callable[[], Any]) -> BaseException:
    with pytest.raises(error) as caught:
        act()
    return caught.value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("override", "start", "end"),
    [
        ("corruption=means", "corruption=means is not an option. Did you mean mean? The options of corruption are: ",
         f"{', '.join(names('corruption'))}."),
        ("network.hidden=64", "network.hidden is not an option. Did you mean network.pretrain_head.width or "
         "network.head.width or network.encoder.width? The options of network are: ", "."),
        ("trials.a=1", "trials.a is not an option; trials takes one value.", "takes one value."),
        ("logger._target_=a.B", "logger._target_ is not an option. For a class of Lightning's: "
         "+logger.mine._target_=CLASS. The options of logger are: ", "."),
        ("hydra.job.chdir=3x", "hydra.job.chdir: Value '3x' is not a valid bool", "."),
        ("patience=5", "patience is not an option. Did you mean pretrain.patience or finetune.patience? The options "
         "are: ", " more; scarf train --cfg job lists them."),
    ],
)  # fmt: skip
def test_what_hydra_refuses_is_explained_by_the_options_there_are(override: str, start: str, end: str) -> None:
    sentence = str(usage_error(refusal(HydraException, lambda: composed(override))))

    assert sentence.startswith(start)
    assert sentence.endswith(end)
    assert "\n" not in sentence


def test_an_interpolation_that_leads_nowhere_is_named() -> None:
    error = refusal(UsageError, lambda: read_config(composed("paths.results=${nowhere}")))
    assert str(error).startswith("paths.results: ")
    assert str(error).endswith(".")


def test_the_openml_cache_is_the_one_that_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENML_CACHE_DIR", "elsewhere")
    assert read_config(composed()).paths.openml == "elsewhere"


def test_any_other_error_keeps_its_words_and_its_cause() -> None:
    error = ValueError("Could not read it.")
    assert str(usage_error(error)) == "Could not read it."
    error.__cause__ = OSError("The disk is full.")
    assert str(usage_error(error)) == "Could not read it. The disk is full."


@pytest.mark.parametrize(
    ("asked", "scaling", "split"),
    [
        ("dataset=wdbc", "zscore", "random"),
        ("dataset=openml dataset.id=31", "zscore", "random"),
        # Three datasets of the paper are not scaled.
        ("dataset=openml dataset.id=28", "none", "random"),
        ("dataset=openml dataset.id=1468", "none", "random"),
        ("dataset=openml dataset.id=4134", "none", "random"),
        ("dataset=openml dataset.id=28 scaling=minmax", "minmax", "random"),
        # A task brings its split.
        ("dataset=openml dataset.task=28", "none", "task"),
        ("dataset=openml dataset.task=9981", "none", "task"),
        ("dataset=openml dataset.task=9910", "none", "task"),
        ("dataset=openml dataset.task=59", "zscore", "task"),
        ("dataset=openml dataset.task=59 split=stratified", "zscore", "stratified"),
    ],
)
def test_a_dataset_brings_its_scaling_and_split_unless_the_user_says_so(asked: str, scaling: str, split: str) -> None:
    config = config_of(*asked.split())

    assert (config.scaling, config.split["name"]) == ({"name": scaling}, split)


def test_axes_of_a_file_come_with_its_composition(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    content = (
        "# @package _global_\nhydra:\n  sweeper:\n    params:\n      seed: 1,2\n      corruption.rate: [0.3, 0.6]\n"
    )
    (tmp_path / "experiment" / "mine.yaml").write_text(content)
    composer = Composer((), tmp_path)
    assert composer.axes(("+experiment=mine",)) == {"seed": "1,2", "corruption.rate": [0.3, 0.6]}
