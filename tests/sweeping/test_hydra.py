"""The door to Hydra: files with the defaults of classes, options of both phases, and what depends on the data."""

from collections.abc import Callable
from typing import Any

import pytest
from hydra.errors import HydraException

from scarf_lightning.errors import UsageError
from scarf_lightning.options.settings import FinetuneSettings, PretrainSettings
from scarf_lightning.sweeping.hydra import named_plugins, read_config, usage_error
from tests.composing import cells_of, composed, config_of, names


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
