"""Which choices go together, and which options a cell uses."""

from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from itertools import product
from typing import Any

import pytest

from scarf_lightning.data.targets import Classes, Number, Target
from scarf_lightning.errors import UsageError
from scarf_lightning.options import Config, build_parts, check_combination, labels, options_of, parts, unused_options
from scarf_lightning.options.combinations import (
    check_labels,
    check_method,
    check_target,
    on_data,
    on_no_effect,
    on_target,
    used_options,
)
from scarf_lightning.options.settings import FinetuneSettings, PretrainSettings
from scarf_lightning.randomness import StackedGenerator
from scarf_lightning.results import identity
from tests.composing import RIVALS, cells_of, config_of, goes_together, names, serves, with_a_loss

OF_FINETUNE = {f"finetune.{field.name}" for field in fields(FinetuneSettings)} - {"finetune.class_weight"}
"""What a method without networks of ours has no part of."""
OF_PRETRAIN = {f"pretrain.{field.name}" for field in fields(PretrainSettings)} - {"pretrain.name"}
SHARED = {"batch_size", "learning_rate", "max_epochs"}
"""Options of both phases, which a cell without a phase of ours does not use."""

MARGINAL = {"name": "marginal", "rate": 0.6}
PAPER = {
    "scarf": (MARGINAL, "infonce", "loss"),
    "scarf_ae": (MARGINAL, "reconstruction", "loss"),
    "no_noise_ae": ({"name": "none"}, "reconstruction", "loss"),
    "add_noise_ae": ({"name": "gaussian", "sigma": 0.5}, "reconstruction", "loss"),
    "scarf_disc": (MARGINAL, "discrimination", "error"),
}
"""For each pre-training of the paper its corruption, its loss and what stops it."""
WEIGHTS = {"scarf": 1.0, "scarf_ae": 0.1, "no_noise_ae": 0.1, "add_noise_ae": 0.1}
"""Of the tasks of co-training."""


PRETEXTS = [name for name in names("pretrain") if name != "none"]


def default_choice(axis: str, name: str) -> dict[str, Any]:
    return {"name": name} | {each.name: each.default for each in options_of(parts(axis)[name]).values()}


def refusal(act: Callable[[], Any]) -> str:
    """The one sentence that an act is refused with."""
    with pytest.raises(UsageError) as caught:
        act()
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


class TestPretraining:
    @pytest.mark.parametrize("name", names("pretrain"))
    def test_known_ones_are_taken(self, name: str) -> None:
        check_combination(config_of(f"pretrain={name}"))
        check_combination(config_of(f"pretrain.name={name}"))  # its own options at their defaults

    @pytest.mark.parametrize("name", PAPER)
    def test_each_is_the_papers(self, name: str) -> None:
        corruption, loss, monitor = PAPER[name]

        config = config_of(f"pretrain={name}")

        assert (config.corruption, config.loss) == (corruption, default_choice("loss", loss))
        assert (config.selection, config.views.name) == ({"name": "exact"}, "one")
        assert config.pretrain == replace(PretrainSettings(), name=name, monitor=monitor)
        pretext = build_parts(config).pretext
        assert pretext is not None
        assert (pretext.corruption.name, pretext.loss.name) == (corruption["name"], loss)

    @pytest.mark.parametrize("order", [1, -1])
    @pytest.mark.parametrize("name", PAPER)
    def test_the_command_line_decides_on_the_corruption(self, name: str, order: int) -> None:
        overrides = [f"pretrain={name}", "corruption=joint", "corruption.rate=0.2"]

        config = config_of(*overrides[::order])

        assert config.corruption == {"name": "joint", "rate": 0.2}
        assert (config.loss["name"], config.pretrain.monitor) == PAPER[name][1:]
        build_parts(config)

    @pytest.mark.parametrize("order", [1, -1])
    def test_the_command_line_decides_on_the_loss(self, order: int) -> None:
        assert config_of(*["pretrain=scarf", "loss=barlow_twins"][::order]).loss["name"] == "barlow_twins"

    @pytest.mark.parametrize("dataset", ["wdbc", "cc18-optdigits"])
    def test_a_dataset_without_scaling_leaves_what_the_pretraining_sets(self, dataset: str) -> None:
        config = config_of(f"dataset={dataset}", "pretrain=add_noise_ae")

        assert config.scaling["name"] == {"wdbc": "zscore", "cc18-optdigits": "none"}[dataset]
        assert (config.corruption["name"], config.loss["name"]) == ("gaussian", "reconstruction")


class TestCotraining:
    @pytest.mark.parametrize("name", WEIGHTS)
    def test_each_is_the_papers(self, name: str) -> None:
        corruption, loss, _ = PAPER[name]

        config = config_of(f"cotrain={name}", "method=cotrain")

        cotrain = config.cotrain
        assert (cotrain.task, cotrain.weight, cotrain.corruption) == (name, WEIGHTS[name], corruption)
        assert cotrain.loss == default_choice("loss", loss)
        method = build_parts(config).method
        assert (method.weight, method.pretext.loss.name) == (WEIGHTS[name], loss)
        assert method.pretext.corruption.name == corruption["name"]

    @pytest.mark.parametrize("method", ["cotrain", "scarf_augment"])
    def test_its_method_and_augmentation_go_without_pretraining(self, method: str) -> None:
        assert config_of(f"method={method}").pretrain == replace(PretrainSettings(), name="none")

    @pytest.mark.parametrize("order", [1, -1])
    def test_it_may_follow_a_pretraining_and_is_not_taken_from_it(self, order: int) -> None:
        config = config_of(*["method=cotrain", "pretrain=add_noise_ae"][::order])

        parts = build_parts(config)

        assert config.pretrain.name == "add_noise_ae"
        assert parts.pretext is not None
        assert (parts.pretext.loss.name, parts.method.pretext.loss.name) == ("reconstruction", "infonce")
        assert parts.method.pretext.corruption.name == "marginal"

    def test_its_corruption_and_its_loss_are_chosen_in_its_own_groups(self) -> None:
        config = config_of(
            "method=cotrain",
            "corruption@cotrain.corruption=zero",
            "loss@cotrain.loss=barlow_twins",
            "cotrain.corruption.rate=0.2",
        )

        assert config.cotrain.corruption == {"name": "zero", "rate": 0.2}
        assert config.cotrain.loss == default_choice("loss", "barlow_twins")
        assert (config.corruption, config.loss["name"]) == (MARGINAL, "infonce")

    def test_a_task_that_is_no_co_training_is_refused(self) -> None:
        config = config_of("method=cotrain", "cotrain.task=scarf_disc")

        sentence = f"cotrain.task must be one of {', '.join(names('cotrain'))}, not scarf_disc."
        assert refusal(lambda: check_combination(config)) == sentence


class TestLoss:
    """A loss serves one kind of task."""

    @pytest.mark.parametrize("loss", names("loss"))
    @pytest.mark.parametrize("name", with_a_loss())
    def test_it_goes_with_a_pretraining_of_its_kind_alone(self, name: str, loss: str) -> None:
        config = replace(config_of(f"pretrain={name}", "pretrain.monitor=loss"), loss=default_choice("loss", loss))

        if serves(loss, name):
            assert build_parts(config).pretext is not None
        else:
            sentence = refusal(lambda: build_parts(config))
            assert sentence.startswith(f"loss={loss} does not go with pretrain={name}, ")

    @pytest.mark.parametrize("loss", names("loss"))
    @pytest.mark.parametrize("name", [name for name in names("cotrain") if name in with_a_loss()])
    def test_it_goes_with_a_co_training_of_its_kind_alone(self, name: str, loss: str) -> None:
        config = config_of("method=cotrain", f"cotrain={name}")
        config = replace(config, cotrain=replace(config.cotrain, loss=default_choice("loss", loss)))

        if serves(loss, name):
            assert build_parts(config).method.pretext.loss.name == loss
        else:
            sentence = refusal(lambda: build_parts(config))
            assert sentence.startswith(f"cotrain.loss={loss} does not go with cotrain={name}, ")

    @pytest.mark.parametrize(
        ("overrides", "start"),
        [
            (["pretrain=scarf_ae", "loss=infonce"], "loss=infonce does not go with pretrain=scarf_ae, "),
            (["pretrain=scarf", "loss=reconstruction"], "loss=reconstruction does not go with pretrain=scarf, "),
            (
                ["method=cotrain", "cotrain=scarf_ae", "loss@cotrain.loss=infonce"],
                "cotrain.loss=infonce does not go with cotrain=scarf_ae, ",
            ),
        ],
    )
    def test_one_of_another_kind_on_the_command_line_is_refused(self, overrides: list[str], start: str) -> None:
        assert refusal(lambda: build_parts(config_of(*overrides))).startswith(start)

    @pytest.mark.parametrize("name", PRETEXTS)
    def test_the_error_is_watched_where_there_is_one(self, name: str) -> None:
        config = config_of(f"pretrain={name}", "pretrain.monitor=error")

        if name in ("scarf", "scarf_disc", "vime"):
            build_parts(config)
        else:
            loss = " with loss=reconstruction" if name in with_a_loss() else ""
            sentence = f"pretrain.monitor=error has no meaning for pretrain={name}{loss}; use loss."
            assert refusal(lambda: build_parts(config)) == sentence


class TestTuning:
    @pytest.mark.parametrize(
        ("overrides", "goes"),
        [
            (["tune=2", "keep_weights=true"], False),
            (["tune=2"], True),
            (["keep_weights=true"], True),
            (["tune=2", "keep_weights=true", "method=logistic"], True),
        ],
    )
    def test_weights_of_networks_of_several_shapes_are_not_kept(self, overrides: list[str], goes: bool) -> None:
        config = config_of(*overrides)

        if goes:
            check_combination(config)
        else:
            start = "keep_weights=true does not go with tune: each trial has a network of its own shape"
            assert refusal(lambda: check_combination(config)).startswith(start)


class TestLabelsOfLoadedData:
    FILE = ("dataset=csv", "dataset.path=mine.csv", "dataset.target=y")

    def test_a_method_that_needs_unlabelled_rows_is_refused_where_a_file_has_none(self) -> None:
        config = config_of(*self.FILE, "method=self_train")

        assert refusal(lambda: check_labels(config, 0)) == (
            "method=self_train needs unlabelled rows, and every row of mine.csv has a label; use regime=semi25 or "
            "few, or dataset.unlabelled=FILE."
        )

    @pytest.mark.parametrize(
        ("overrides", "n_unlabelled"),
        [(["method=self_train"], 1), (["method=self_train", "regime=semi25"], 0), ([], 0)],
    )
    def test_it_is_taken_where_there_are_some_or_the_regime_makes_some(
        self, overrides: list[str], n_unlabelled: int
    ) -> None:
        check_labels(config_of(*self.FILE, *overrides), n_unlabelled)


class TestTargetOfLoadedData:
    @pytest.mark.parametrize("check", [check_target, check_method])
    @pytest.mark.parametrize(("method", "served"), [("logistic", Classes), ("ridge", Number), ("control", Number)])
    def test_a_method_is_taken_for_what_it_serves(
        self, method: str, served: type[Target], check: Callable[[Config, type[Target]], None]
    ) -> None:
        check(config_of(f"method={method}"), served)

    @pytest.mark.parametrize("check", [check_target, check_method])
    @pytest.mark.parametrize(("method", "other"), [("logistic", Number), ("ridge", Classes)])
    def test_and_refused_for_what_it_does_not(
        self, method: str, other: type[Target], check: Callable[[Config, type[Target]], None]
    ) -> None:
        start = f"method={method} does not go with dataset.target_kind={other.name}: "
        assert refusal(lambda: check(config_of(f"method={method}"), other)).startswith(start)

    @pytest.mark.parametrize(
        ("override", "kind", "start"),
        [
            (
                "finetune.class_weight=balanced",
                Number,
                "finetune.class_weight=balanced does not go with dataset.target",
            ),
            ("metric=accuracy", Number, "metric=accuracy does not measure numbers; their metrics are: rmse, "),
            ("metric=rmse", Classes, "metric=rmse does not measure classes; their metrics are: accuracy, "),
            ("finetune.metric=rmse", Classes, "finetune.metric=rmse does not measure classes; "),
        ],
    )
    def test_options_of_another_kind_are_refused(self, override: str, kind: type[Target], start: str) -> None:
        (other,) = {Classes, Number} - {kind}

        check_target(config_of(override), other)
        assert refusal(lambda: check_target(config_of(override), kind)).startswith(start)


OF_NO_DECAY = {f"{phase}.{name}" for phase in ("pretrain", "finetune") for name in ("decayed", "weight_decay_schedule")}
OF_VALIDATION = ("patience", "restore_best", "validate_every", "ties")
IDLE = OF_NO_DECAY | {"finetune.label_smoothing_schedule", "finetune.fixed_steps"}
"""Options of the phases that do nothing by default."""


class TestUnused:
    """Which options have no part in a cell."""

    @pytest.mark.parametrize(
        ("overrides", "expected"),
        [
            ("pretrain=scarf", {"cotrain"}),
            ("pretrain=scarf_disc", {"cotrain", "views"}),
            ("pretrain=scarf_ae", {"cotrain", "views"}),
            ("pretrain=no_noise_ae", {"cotrain", "views", "selection"}),
            ("pretrain=add_noise_ae", {"cotrain", "views", "selection"}),
            ("pretrain=add_noise_ae corruption=mean", {"cotrain", "views"}),
            ("pretrain=vime", {"cotrain", "views", "loss"}),
            ("pretrain=subtab corruption=gaussian", {"cotrain", "views", "loss", "selection"}),
            ("corruption=gaussian", {"cotrain", "selection"}),
            ("corruption=none", {"cotrain", "selection"}),
            (
                "pretrain=none",
                OF_PRETRAIN | {"corruption", "selection", "views", "loss", "cotrain", "network.pretrain_head"},
            ),
            ("method=scarf_augment", OF_PRETRAIN | {"views", "loss", "cotrain", "network.pretrain_head"}),
            (
                "method=scarf_augment corruption=gaussian",
                OF_PRETRAIN | {"selection", "views", "loss", "cotrain", "network.pretrain_head"},
            ),
            ("method=cotrain", OF_PRETRAIN | {"corruption", "loss"}),
            ("method=cotrain cotrain=scarf_ae", OF_PRETRAIN | {"corruption", "loss", "views"}),
            ("method=cotrain cotrain=no_noise_ae", OF_PRETRAIN | {"corruption", "loss", "views", "selection"}),
            ("method=cotrain cotrain=vime", OF_PRETRAIN | {"corruption", "loss", "views", "cotrain.loss"}),
            ("method=cotrain pretrain=scarf", set()),
            ("method=cotrain pretrain=no_noise_ae", set()),
            ("method=cotrain cotrain=no_noise_ae pretrain=scarf", set()),
            ("method=cotrain cotrain=no_noise_ae pretrain=scarf_ae", {"views"}),
            (
                "method=xgboost",
                OF_PRETRAIN
                | SHARED
                | {"corruption", "selection", "views", "loss", "cotrain", "network", "encoding"}
                | OF_FINETUNE,
            ),
            (
                "method=logistic tune=2",
                OF_PRETRAIN
                | SHARED
                | {"corruption", "selection", "views", "loss", "cotrain", "network", "encoding"}
                | OF_FINETUNE - {"finetune.metric"},
            ),
            ("finetune.metric=auroc", {"cotrain", "finetune.monitor"}),
            ("method=probe", {"cotrain", "finetune", "network.head"}),
            (
                "method=probe pretrain=none",
                OF_PRETRAIN
                | SHARED
                | {"corruption", "selection", "views", "loss", "cotrain"}
                | {"finetune", "network.head", "network.pretrain_head"},
            ),
            ("method=distill pretrain=scarf", {"cotrain"}),
            ("method=self_train regime=semi25 pretrain=scarf_ae", {"cotrain", "views", "regime.validation_share"}),
            (
                "regime=few regime.validation=inside pretrain=scarf finetune.monitor=none",
                {"cotrain", "regime.validation_share"} | {f"finetune.{name}" for name in OF_VALIDATION},
            ),
            ("regime=few regime.validation=inside pretrain=scarf", {"cotrain"}),
            ("regime=few pretrain=scarf", {"cotrain", "regime.validation_share"}),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_they_are_these(self, overrides: str, expected: set[str]) -> None:
        assert unused_options(config_of(*overrides.split())) - IDLE == expected - IDLE

    @pytest.mark.parametrize(
        ("overrides", "expected"),
        [
            ("", {"finetune.label_smoothing_schedule", "finetune.fixed_steps", *OF_NO_DECAY}),
            ("finetune.monitor=none", {f"finetune.{name}" for name in OF_VALIDATION}),
            ("pretrain.monitor=none", {f"pretrain.{name}" for name in OF_VALIDATION}),
            ("finetune.monitor=none finetune.metric=auroc", {"finetune.metric"}),
            ("finetune.max_steps=9", {"finetune.max_epochs"}),
            ("finetune.label_smoothing=0.1 method=label_smoothing", {"finetune.label_smoothing"}),
        ],
    )
    def test_options_of_a_phase_that_do_nothing_beside_the_others(self, overrides: str, expected: set[str]) -> None:
        assert expected <= unused_options(config_of(*overrides.split()))

    @pytest.mark.parametrize(
        ("overrides", "used"),
        [
            ("finetune.weight_decay=0.1", {"finetune.decayed", "finetune.weight_decay_schedule"}),
            ("finetune.label_smoothing=0.1", {"finetune.label_smoothing", "finetune.label_smoothing_schedule"}),
            ("finetune.fixed_below=9", {"finetune.fixed_steps", "finetune.patience"}),
            ("finetune.monitor=none finetune.metric=auroc tune=2", {"finetune.metric"}),
        ],
    )
    def test_and_those_that_do_something(self, overrides: str, used: set[str]) -> None:
        assert not used & unused_options(config_of(*overrides.split()))

    @pytest.mark.parametrize("name", names("corruption"))
    def test_features_are_selected_where_a_share_of_them_is_replaced(self, name: str) -> None:
        config = replace(config_of(), corruption=default_choice("corruption", name))

        assert ("selection" in unused_options(config)) == (name in ("none", "gaussian"))


@pytest.mark.parametrize(("precision", "differs"), [("32-true", False), ("64-true", True)])
def test_of_the_hardware_a_cell_uses_the_precision_alone(precision: str, differs: bool) -> None:
    config = config_of(f"trainer.precision={precision}", "trainer.threads=2", "trainer.trials_per_stack=3")

    of_hardware = [each for each in used_options(config) if each.name.startswith(("trainer", "precision"))]

    assert of_hardware == [("precision", precision, differs)]


def test_people_read_the_label_of_each_part_that_a_cell_uses() -> None:
    named = {"pretrain": "no pre-training", "method": "co-training", "cotrain.task": "VIME", "network": "MLP"}
    common = {"split", "regime", "scaling", "encoding", "selection"}

    found = labels(config_of("method=cotrain", "cotrain=vime"))

    assert {axis: found[axis] for axis in named} == named
    assert set(found) == {*named, *common}, "those of unused axes are missing"


class TestWhatGoesTogether:
    @pytest.mark.parametrize("method", names("method"))
    def test_what_does_is_taken_and_the_rest_is_refused(self, method: str) -> None:
        usual = replace(config_of(), method=default_choice("method", method))
        for pretrain, regime in product(names("pretrain"), names("regime")):
            config = replace(usual, pretrain=PretrainSettings(name=pretrain), regime=default_choice("regime", regime))
            if goes_together(method, pretrain, regime):
                check_combination(config)
                continue
            if method in ("self_train", "tri_train"):
                reason = f"regime={regime}: it needs unlabelled rows; use few, semi25."
            else:
                reason = f"pretrain={pretrain}: it is never pre-trained; use none."
            sentence = f"method={method} does not go with {reason}"
            assert refusal(partial(check_combination, config)) == sentence
            assert refusal(partial(build_parts, config)) == sentence

    @pytest.mark.parametrize("method", ["scarf_augment", *RIVALS])
    def test_what_is_never_pretrained_brings_that_with_it(self, method: str) -> None:
        (cell,) = cells_of(f"method={method}")

        assert cell.config.pretrain.name == "none"


class TestXGBoost:
    """It has no network."""

    OPTIONS = (
        "finetune.batch_size=64",
        "finetune.patience=1",
        "network=mlp",
        "network.encoder.width=8",
        "network.head.depth=1",
        "network.pretrain_head.width=8",
    )

    @pytest.mark.parametrize("option", OPTIONS)
    def test_they_are_refused_where_no_other_method_uses_them(self, option: str) -> None:
        key = option.partition("=")[0]

        sentence = refusal(lambda: cells_of("method=xgboost", option))

        assert sentence.startswith(f"{key} is set, but no cell of this run uses it (")
        assert "method=xgboost" in sentence

    @pytest.mark.parametrize("option", OPTIONS)
    def test_they_may_be_set_beside_a_method_that_uses_them(self, option: str) -> None:
        assert [cell.config.method["name"] for cell in cells_of("method=xgboost,control", option)] == [
            "xgboost",
            "control",
        ]


class TestEmptySelections:
    @pytest.mark.parametrize("selection", names("selection"))
    @pytest.mark.parametrize("name", [name for name, cls in parts("corruption").items() if "rate" in options_of(cls)])
    def test_none_is_what_selects_no_feature(self, name: str, selection: str) -> None:
        for rate, n_columns, n_encoded in [(0.1, 9, 9), (0.1, 9, 10), (0.1, 10, 12), (0.3, 3, 4)]:
            self.check(name, selection, rate, n_columns, n_encoded)

    def check(self, name: str, selection: str, rate: float, n_columns: int, n_encoded: int) -> None:
        chosen = default_choice("corruption", name)
        config = replace(config_of(), corruption=chosen | {"rate": rate}, selection={"name": selection})
        space = parts("corruption")[name].space
        width = n_columns if space == "raw" else n_encoded
        mask = parts("selection")[selection]().mask(rate, 5, width, StackedGenerator([3]))

        amounting = on_data(config, n_columns, n_encoded)

        assert (amounting.corruption == {"name": "none"}) == (not mask.any())
        if mask.any():
            assert identity(amounting, "") == identity(config, "")
            assert on_no_effect(config, amounting) == []
        else:
            assert identity(amounting, "") == identity(replace(config, corruption={"name": "none"}), "")
            (sentence,) = on_no_effect(config, amounting)
            assert sentence.startswith(f"corruption.rate={rate:g} selects no feature")

    def test_a_cell_that_does_not_corrupt_says_nothing(self) -> None:
        config = config_of("pretrain=none")
        assert on_no_effect(config, on_data(config, 1, 1)) == []
        cotrained = config_of("method=cotrain", "pretrain=none")
        (sentence,) = on_no_effect(cotrained, on_data(cotrained, 1, 1))
        assert sentence.startswith("cotrain.corruption.rate=0.6 selects no feature")


def test_numbers_are_not_smoothed_and_the_cell_counts_as_one_without_smoothing() -> None:
    config = config_of("finetune.label_smoothing=0.1")
    amounting = on_target(config, Number)
    assert amounting.finetune.label_smoothing == 0
    (sentence,) = on_no_effect(config, amounting)
    assert sentence.startswith("finetune.label_smoothing=0.1 is for classes")
    assert on_no_effect(config, amounting, {"finetune.label_smoothing": 0.1}) == [], "of a recipe, which serves both"
    assert on_target(config, Classes) is config
    assert on_no_effect(config, config) == []


def test_numbers_may_have_a_fixed_length_of_their_own() -> None:
    config = config_of("finetune.fixed_below=500", "finetune.fixed_below_numbers=9")
    of_all = config_of("finetune.fixed_below=500")
    assert identity(on_target(config, Classes), "") == identity(of_all, "")
    assert on_no_effect(config, on_target(config, Classes)) == []
    assert on_target(of_all, Number) is of_all

    amounting = on_target(config, Number)
    assert identity(amounting, "") == identity(config_of("finetune.fixed_below=9"), "")
    assert on_no_effect(config, amounting) == [
        "finetune.fixed_below=500 is more than finetune.fixed_below_numbers: on numbers the cell trains, and "
        "counts, as finetune.fixed_below=9."
    ]
    assert on_no_effect(config, amounting, {"finetune.fixed_below": 500}) == [], "of a recipe, which serves both"
    shorter = config_of("finetune.fixed_below=3", "finetune.fixed_below_numbers=9")
    assert on_target(shorter, Number).finetune.fixed_below == 3


def test_the_practical_recipe_stops_numbers_early_with_any_number_of_labels() -> None:
    practical = config_of("recipe=practical")
    assert on_target(practical, Classes).finetune.fixed_below == 1000
    settings = on_target(practical, Number).finetune
    assert (settings.fixed_below, settings.monitor, settings.min_steps, settings.patience) == (0, "error", 300, 20)
