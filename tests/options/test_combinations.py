"""Which choices go together, and which options a cell uses."""

from dataclasses import fields, replace
from functools import partial
from itertools import cycle, product

import pytest

from scarf_lightning.data.targets import Classes, Number, Target
from scarf_lightning.options import build_parts, check_combination, options_of, parts, unused_options
from scarf_lightning.options.combinations import (
    check_labels,
    check_method,
    check_target,
    fit_to_data,
    fit_to_target,
    no_effect_sentences,
    used_options,
)
from scarf_lightning.options.settings import FinetuneSettings, PretrainSettings
from scarf_lightning.randomness import StackedGenerator
from tests.cells import identity_of
from tests.composing import (
    config_of,
    default_choice,
    goes_together,
    names,
    refusal,
    serves,
    with_a_loss,
)

OF_FINETUNE = {f"finetune.{field.name}" for field in fields(FinetuneSettings)}
OF_FINETUNE -= {"finetune.class_weight"}
"""What a method without networks of ours has no part of."""
OF_PRETRAIN = {f"pretrain.{field.name}" for field in fields(PretrainSettings)} - {"pretrain.name"}
SHARED = {"batch_size", "learning_rate", "max_epochs"}
"""Options of both phases, which a cell without a phase of ours does not use."""

MARGINAL = {"name": "marginal", "keep": None, "rate": 0.6}
PAPER = {
    "scarf": (MARGINAL, "infonce", "loss"),
    "scarf_ae": (MARGINAL, "reconstruction", "loss"),
    "no_noise_ae": ({"name": "none"}, "reconstruction", "loss"),
    "add_noise_ae": ({"name": "gaussian", "keep": None, "sigma": 0.5}, "reconstruction", "loss"),
    "scarf_disc": (MARGINAL, "discrimination", "error"),
}
"""For each pre-training of the paper its corruption, its loss and what stops it."""
WEIGHTS = {"scarf": 1.0, "scarf_ae": 0.1, "no_noise_ae": 0.1, "add_noise_ae": 0.1}
"""Of the tasks of co-training."""


PRETEXTS = [name for name in names("pretrain") if name != "none"]


class TestPretraining:
    @pytest.mark.parametrize(("name", "order"), zip(PAPER, cycle([1, -1]), strict=False))
    def test_each_is_the_papers_and_the_command_line_decides_on_its_corruption(self, name: str, order: int) -> None:
        corruption, loss, monitor = PAPER[name]

        config = config_of(f"pretrain={name}")

        assert (config.corruption, config.loss) == (corruption, default_choice("loss", loss))
        assert (config.selection, config.views.name) == ({"name": "exact"}, "one")
        assert config.pretrain == replace(PretrainSettings(), name=name, monitor=monitor)
        pretext = build_parts(config).pretext
        assert pretext is not None
        assert (pretext.corruption.name, pretext.loss.name) == (corruption["name"], loss)

        other = config_of(*[f"pretrain={name}", "corruption=joint", "corruption.rate=0.2"][::order])
        assert (other.corruption, other.loss["name"]) == ({"name": "joint", "keep": None, "rate": 0.2}, loss)
        assert other.pretrain.monitor == monitor
        build_parts(other)


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

    def test_its_corruption_and_its_loss_are_chosen_in_its_own_groups(self) -> None:
        chosen = ("corruption@cotrain.corruption=zero", "cotrain.corruption.rate=0.2", "loss@cotrain.loss=barlow_twins")
        config = config_of("method=cotrain", *chosen)

        assert config.cotrain.corruption == {"name": "zero", "keep": None, "rate": 0.2}
        assert config.cotrain.loss == default_choice("loss", "barlow_twins")
        assert (config.corruption, config.loss["name"]) == (MARGINAL, "infonce")

    def test_a_task_that_is_no_co_training_is_refused(self) -> None:
        config = config_of("method=cotrain", "cotrain.task=scarf_disc")

        assert refusal(lambda: check_combination(config)).startswith("cotrain.task=scarf_disc does not go with ")


class TestLoss:
    """A loss serves one kind of task."""

    @pytest.mark.slow
    @pytest.mark.parametrize("loss", names("loss"))
    def test_it_goes_with_tasks_of_its_kind_alone(self, loss: str) -> None:
        chosen = default_choice("loss", loss)
        for name in with_a_loss():
            config = replace(config_of(f"pretrain={name}", "pretrain.monitor=loss"), loss=chosen)
            if serves(loss, name):
                assert build_parts(config).pretext is not None
            else:
                start = f"loss={loss} does not go with pretrain={name}, "
                assert refusal(partial(build_parts, config)).startswith(start)
        for name in set(with_a_loss()) & set(names("cotrain")):
            config = config_of("method=cotrain", f"cotrain={name}")
            config = replace(config, cotrain=replace(config.cotrain, loss=chosen))
            if serves(loss, name):
                assert build_parts(config).method.pretext.loss.name == loss
            else:
                start = f"cotrain.loss={loss} does not go with cotrain={name}, "
                assert refusal(partial(build_parts, config)).startswith(start)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", PRETEXTS)
    def test_the_error_is_watched_where_there_is_one(self, name: str) -> None:
        config = config_of(f"pretrain={name}")
        config = replace(config, pretrain=replace(config.pretrain, monitor="error"))

        if name in ("scarf", "scarf_disc", "vime"):
            build_parts(config)
        else:
            sentence = f"pretrain.monitor=error has no meaning for pretrain={name}; use loss."
            assert refusal(lambda: build_parts(config)) == sentence


FILE = ("dataset=csv", "dataset.path=mine.csv", "dataset.target=y")


class TestOneSentence:
    """A choice is refused beside another one, or on data that it does not serve, and is taken where it does."""

    def test_a_method_that_needs_unlabelled_rows_is_refused_where_a_file_has_none(self) -> None:
        assert refusal(lambda: check_labels(config_of(*FILE, "method=self_train"), 0)) == (
            "method=self_train does not go with regime=full: it needs unlabelled rows; use regime=few or semi25."
        )
        for overrides, n_unlabelled in (("method=self_train", 1), ("method=self_train regime=semi25", 0), ("", 0)):
            check_labels(config_of(*FILE, *overrides.split()), n_unlabelled)

    @pytest.mark.parametrize(
        ("override", "other", "reason"),
        [
            ("method=logistic", Number, "does not go with dataset.target_kind=number: "),
            ("method=ridge", Classes, "does not go with dataset.target_kind=classes: "),
            ("finetune.class_weight=balanced", Number, "does not go with dataset.target"),
            ("metric=accuracy", Number, "does not measure numbers. Their metrics are: rmse, "),
            ("metric=rmse", Classes, "does not measure classes. Their metrics are: accuracy, "),
            ("finetune.metric=rmse", Classes, "does not measure classes. "),
        ],
    )
    def test_what_serves_one_kind_of_target_is_refused_for_the_other(
        self, override: str, other: type[Target], reason: str
    ) -> None:
        config = config_of(override)
        (served,) = {Classes, Number} - {other}
        for check in (check_target, check_method) if override.startswith("method") else (check_target,):
            check(config, served)
            check(config_of(), other)
            assert refusal(partial(check, config, other)).startswith(f"{override} {reason}")


OF_NO_DECAY = {f"{phase}.{name}" for phase in ("pretrain", "finetune") for name in ("decayed", "weight_decay_schedule")}
OF_VALIDATION = ("patience", "restore_best", "validate_every", "ties")
NO_PRETRAINING = OF_PRETRAIN | {"views", "loss", "cotrain", "network.pretrain_head"}
NO_NETWORK = (
    OF_PRETRAIN | SHARED | OF_FINETUNE
    | {"corruption", "selection", "views", "loss", "cotrain", "network", "encoding"}
)  # fmt: skip
IDLE = OF_NO_DECAY | {
    "finetune.label_smoothing_schedule", "finetune.fixed_steps", "finetune.folds", "finetune.fold_steps",
    "finetune.fold_caution", "finetune.fold_every", "finetune.fold_average",
}  # fmt: skip
"""Options of the phases that do nothing by default."""


class TestUnused:
    """Which options have no part in a cell."""

    @pytest.mark.parametrize(
        ("overrides", "expected"),
        [
            ("pretrain=scarf", {"cotrain"}),
            ("pretrain=scarf_disc", {"cotrain", "views"}),
            ("pretrain=no_noise_ae", {"cotrain", "views", "selection"}),
            ("pretrain=vime", {"cotrain", "views", "loss"}),
            ("pretrain=none", NO_PRETRAINING | {"corruption", "selection"}),
            ("method=scarf_augment", NO_PRETRAINING),
            ("method=cotrain", OF_PRETRAIN | {"corruption", "loss"}),
            ("method=cotrain cotrain=no_noise_ae pretrain=scarf_ae", {"views"}),
            ("method=xgboost", NO_NETWORK),
            ("finetune.metric=auroc", {"cotrain", "finetune.monitor"}),
            ("method=probe", {"cotrain", "network.head", "finetune.class_weight"} | OF_FINETUNE),
            ("method=self_train regime=semi25 pretrain=scarf_ae", {"cotrain", "views", "regime.validation_share"}),
            (
                "regime=few regime.validation=inside pretrain=scarf finetune.monitor=none",
                {"cotrain", "regime.validation_share"} | {f"finetune.{name}" for name in OF_VALIDATION},
            ),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_they_are_these(self, overrides: str, expected: set[str]) -> None:
        assert unused_options(config_of(*overrides.split())) - IDLE == expected - IDLE

    @pytest.mark.parametrize(
        ("overrides", "unused", "used"),
        [
            ("", {"finetune.label_smoothing_schedule", "finetune.fixed_steps", *OF_NO_DECAY}, set()),
            ("finetune.monitor=none", {f"finetune.{name}" for name in OF_VALIDATION}, set()),
            ("pretrain.monitor=none", {f"pretrain.{name}" for name in OF_VALIDATION}, set()),
            ("finetune.max_steps=9", {"finetune.max_epochs"}, set()),
            ("finetune.label_smoothing=0.1 method=label_smoothing", {"finetune.label_smoothing"}, set()),
            (
                "finetune.label_smoothing=0.1",
                set(),
                {"finetune.label_smoothing", "finetune.label_smoothing_schedule"},
            ),
            ("finetune.weight_decay=0.1", set(), {"finetune.decayed", "finetune.weight_decay_schedule"}),
            (
                "finetune.fixed_below=9",
                {"finetune.fold_steps"},
                {"finetune.fixed_steps", "finetune.folds", "finetune.patience"},
            ),
            ("finetune.folds=3", {"finetune.folds"}, set()),
            (
                "finetune.folds=3 finetune.fixed_below=9",
                {"finetune.fixed_steps"},
                {"finetune.folds", "finetune.fold_steps"},
            ),
            (
                "finetune.folds=3 finetune.fixed_below=9 finetune.monitor=none",
                {"finetune.folds"},
                set(),
            ),
        ],
    )
    def test_options_of_a_phase_beside_the_others(self, overrides: str, unused: set[str], used: set[str]) -> None:
        found = unused_options(config_of(*overrides.split()))

        assert unused <= found
        assert not used & found

    def test_features_are_selected_where_a_share_of_them_is_replaced(self) -> None:
        for name in names("corruption"):
            config = replace(config_of(), corruption=default_choice("corruption", name))
            assert ("selection" in unused_options(config)) == (name in ("none", "gaussian"))


def test_each_option_that_is_used_occurs_once_and_the_name_of_a_part_always_differs() -> None:
    used = used_options(config_of("method=cotrain", "pretrain=scarf"))

    assert len({each.name for each in used}) == len(used)
    of_parts = {each.name: each.differs for each in used if each.axis}
    assert of_parts.keys() >= {"method", "network", "pretrain", "loss", "cotrain.task", "cotrain.loss"}
    assert all(of_parts.values())


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
                reason = f"regime={regime}: it needs unlabelled rows; use regime=few or semi25."
            else:
                reason = f"pretrain={pretrain}: it is never pre-trained; use none."
            sentence = f"method={method} does not go with {reason}"
            assert refusal(partial(check_combination, config)) == sentence
            assert refusal(partial(build_parts, config)) == sentence


class TestEmptySelections:
    SIZES = ((0.1, 9, 9), (0.1, 9, 10), (0.1, 10, 12), (0.3, 3, 4))
    """Of a table: the rate, the columns, and those that are encoded."""

    @pytest.mark.parametrize("selection", names("selection"))
    @pytest.mark.parametrize("name", [name for name, cls in parts("corruption").items() if "rate" in options_of(cls)])
    def test_none_is_what_selects_no_feature(self, name: str, selection: str) -> None:
        for rate, n_columns, n_encoded in self.SIZES:
            chosen = default_choice("corruption", name) | {"rate": rate}
            config = replace(config_of(), corruption=chosen, selection={"name": selection})
            width = n_columns if parts("corruption")[name].space == "raw" else n_encoded
            mask = parts("selection")[selection]().mask(rate, 5, width, StackedGenerator([3]))

            amounting = fit_to_data(config, n_columns, n_encoded)

            counts_as = config if mask.any() else replace(config, corruption={"name": "none"})
            assert (amounting.corruption == {"name": "none"}) == (not mask.any())
            assert identity_of(amounting, "") == identity_of(counts_as, "")
            said = [sentence.partition(" does nothing ")[0] for sentence in no_effect_sentences(config, amounting, {})]
            assert said == ([] if mask.any() else [f"corruption={name}"])

    def test_an_encoding_that_widens_no_column_leaves_as_many_as_the_table_has(self) -> None:
        config = replace(config_of(), corruption={"name": "mean", "rate": 0.1}, encoding={"name": "ordinal"})
        assert fit_to_data(config, 9, 30).corruption == {"name": "none"}
        assert fit_to_data(config, 10, 30) == config


def test_the_practical_recipe_has_folds_and_stops_numbers_early_where_a_method_has_none() -> None:
    folded, mixed_rows = config_of("recipe=practical"), config_of("recipe=practical", "method=mixup")
    for kind in (Classes, Number):
        assert fit_to_target(folded, kind).folds_on(999) == 3
        assert fit_to_target(mixed_rows, kind).folds_on(999) == 0
    assert fit_to_target(mixed_rows, Classes).finetune.fixed_below == 1000
    settings = fit_to_target(mixed_rows, Number).finetune
    assert (settings.fixed_below, settings.monitor, settings.min_steps, settings.patience) == (0, "error", 300, 20)
