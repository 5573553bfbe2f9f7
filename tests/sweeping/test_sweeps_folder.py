"""Every file in `sweeps/` holds the cells that its figure or table needs, and all of them pass the checks."""

import itertools
from functools import cache
from typing import Any

import pytest

from scarf_lightning.options import Config
from scarf_lightning.sweeping.cell import Cell, distinct
from tests.composing import ROOT, cells_of, request_of

DATASETS = 69
PRETRAINS = {"none", "scarf", "scarf_ae", "add_noise_ae", "no_noise_ae", "scarf_disc"}
METHODS = {
    "full": {"control", "dropout", "mixup", "label_smoothing", "distill"},
    "noise30": {"control", "dropout", "mixup", "label_smoothing", "distill", "deep_knn", "bitempered"},
    "semi25": {"control", "dropout", "mixup", "label_smoothing", "distill", "self_train", "tri_train"},
}
UNSCALED = {4134, 28, 1468}

Setting = tuple[Any, ...]


def grid(*axes: Any) -> set[Setting]:
    """The product of axes; what is not a collection is one value."""
    return set(itertools.product(*(axis if isinstance(axis, (set, list, tuple)) else [axis] for axis in axes)))


def of_regime(regime: str) -> set[Setting]:
    return grid(regime, PRETRAINS, METHODS[regime])


def regime_pretrain_method(config: Config) -> Setting:
    return config.regime["name"], config.pretrain.name, config.method["name"]


def pretrain_method(config: Config) -> Setting:
    return config.pretrain.name, config.method["name"]


def corruption(config: Config) -> Setting:
    return config.scaling["name"], config.corruption["name"]


def tweak(config: Config) -> Setting:
    return config.corruption["name"], config.selection["name"], config.views.name


def cotraining(config: Config) -> Setting:
    chosen = (config.cotrain.task, config.cotrain.weight) if config.is_cotrained else (None, None)
    return (*pretrain_method(config), *chosen)


def weights(config: Config) -> Setting:
    return config.loss["name"], config.loss["align"], config.loss["uniform"]


EXPECTED: dict[str, tuple[Any, set[Setting]]] = {
    "pretraining_full": (regime_pretrain_method, of_regime("full")),
    "pretraining_noise30": (regime_pretrain_method, of_regime("noise30")),
    "pretraining_semi25": (regime_pretrain_method, of_regime("semi25")),
    "relative_gains": (regime_pretrain_method, of_regime("full") | of_regime("noise30") | of_regime("semi25")),
    "batch_size": (lambda c: (c.pretrain.name, c.pretrain.batch_size), grid("scarf", [32, 64, 128, 256, 512, 1024])),
    "corruption_rate": (
        lambda c: (c.corruption["name"], c.corruption["rate"]),
        grid("marginal", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]),
    ),
    "temperature": (lambda c: (c.loss["name"], c.loss["temperature"]), grid("infonce", [0.1, 0.2, 0.5, 1, 2, 5, 10])),
    "corruption_strategies": (
        corruption,
        grid(["zscore", "minmax", "mean"], ["marginal", "none", "mean", "gaussian", "joint", "missing", "zero"]),
    ),
    "losses": (lambda c: (c.loss["name"],), grid(["infonce", "barlow_twins", "align_uniform"])),
    "align_uniform_weights": (
        weights,
        {("align_uniform", a, u) for a, u in ((1, 4), (1, 2), (1, 1), (2, 1), (4, 1))},
    ),
    "cotraining_scarf": (
        cotraining,
        grid(["none", "scarf"], "control", None, None) | grid("none", "cotrain", "scarf", [0.01, 0.1, 1, 10]),
    ),
    "cotraining_add_noise_ae": (
        cotraining,
        grid(["none", "add_noise_ae"], "control", None, None)
        | grid("none", "cotrain", "add_noise_ae", [0.01, 0.1, 1, 10]),
    ),
    "augmentation": (pretrain_method, grid(["none", "scarf"], "control") | {("none", "scarf_augment")}),
    "validation_metric": (lambda c: (c.pretrain.name, c.pretrain.monitor), grid("scarf", ["loss", "error"])),
    "corruption_tweaks": (
        tweak,
        {
            ("marginal", "exact", "one"),
            ("marginal", "exact", "both"),
            ("marginal", "shared", "one"),
            ("marginal", "bernoulli", "one"),
            ("single_row", "exact", "one"),
        },
    ),
    "absolute_accuracy": (
        regime_pretrain_method,
        grid(set(METHODS), PRETRAINS, "control") | grid(set(METHODS), "none", "xgboost"),
    ),
    "training_epochs": (regime_pretrain_method, grid("full", PRETRAINS, "control")),
    "control_scaling": (
        lambda c: (c.scaling["name"], c.pretrain.name, c.method["name"]),
        grid(["zscore", "minmax", "mean", "none"], "none", "control"),
    ),
}
"""For each file: what of a cell its axes are, and their values. Every one is on all of the paper's datasets."""

ON_ONE_DATASET = {"pretraining_curves": ("cc18-phoneme", 30), "quick": ("wdbc", 5)}
LARGE = {
    "relative_gains", "pretraining_full", "pretraining_noise30", "pretraining_semi25", "corruption_strategies",
    "absolute_accuracy",
}  # fmt: skip
"""Files of more than a thousand cells."""
LIKE_ANOTHER = {
    "cotraining_add_noise_ae", "temperature", "training_epochs", "batch_size", "losses", "validation_metric",
}  # fmt: skip
"""Files made as another one is, which the quick tests look at."""
NARROW = {"corruption_strategies", "control_scaling"}
"""Where the scaling is an axis, so that it is the same for every dataset."""


@cache
def cells(name: str) -> list[Cell]:
    """The cells of a file. Only its checked configurations are looked at; nothing is trained."""
    return distinct(request_of(f"sweeps={name}", "max_cells=null").cells)


def test_every_file_is_looked_at() -> None:
    assert {path.stem for path in (ROOT / "sweeps").glob("*.yaml")} == {
        *EXPECTED,
        *ON_ONE_DATASET,
        "answer",
        "columns",
        "textbook",
    }


FILES = [pytest.param(name, marks=pytest.mark.slow) if name in LARGE | LIKE_ANOTHER else name for name in EXPECTED]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.slow
def test_a_file_has_its_figures_cells_on_every_dataset(name: str) -> None:
    setting, expected = EXPECTED[name]

    asked = {(cell.config.dataset.id, *setting(cell.config)) for cell in cells(name)}

    datasets = {dataset for dataset, *_ in asked}
    assert len(datasets) == DATASETS
    assert asked == {(dataset, *values) for dataset in datasets for values in expected}
    assert len(cells(name)) == DATASETS * len(expected)


@pytest.mark.parametrize("name", [*FILES, *ON_ONE_DATASET])
@pytest.mark.slow
def test_what_no_axis_changes_is_as_in_the_paper(name: str) -> None:
    defaults = request_of().cells[0].config
    for cell in cells(name):
        config = cell.config
        assert config.trials == ON_ONE_DATASET.get(name, (None, 30))[1]
        assert (config.seed, config.fit_on, config.network) == (0, "all", defaults.network)
        assert config.finetune == defaults.finetune
        if name not in NARROW:
            assert config.scaling["name"] == ("none" if config.dataset.id in UNSCALED else "zscore")
        if name not in ("batch_size", "validation_metric") and config.is_pretrained:
            monitor = "error" if config.pretrain.name == "scarf_disc" else "loss"
            assert (config.pretrain.batch_size, config.pretrain.monitor) == (128, monitor)


def test_the_curves_are_of_phoneme_and_the_quick_one_shows_regimes_methods_and_a_rate() -> None:
    assert {cell.config.dataset.source for cell in cells("quick")} == {"wdbc"}
    (curve,) = cells("pretraining_curves")
    assert (curve.config.dataset.id, *regime_pretrain_method(curve.config)) == (1489, "full", "scarf", "control")
    shown = {(*regime_pretrain_method(cell.config), cell.config.corruption["rate"]) for cell in cells("quick")}
    comparison = grid(set(METHODS), ["none", "scarf", "scarf_ae"], ["control", "mixup"], 0.6)
    assert shown == comparison | grid("full", "scarf", "control", [0.2, 0.4, 0.8])
    assert len(cells("quick")) == 21


def test_the_textbook_changes_one_part_of_scarf_at_a_time() -> None:
    base, *others = cells("textbook")

    assert (base.config.pretrain.name, base.config.corruption["name"]) == ("scarf", "marginal")
    assert {cell.config.dataset.source for cell in cells("textbook")} == {"wdbc"}
    for cell in others:
        assert len(set(cell.overrides) - set(base.overrides)) == 1, cell.label


@pytest.mark.slow
def test_the_answer_compares_with_a_network_from_scratch_at_each_number_of_labels() -> None:
    # Large enough for all numbers of labels.
    asked = request_of("sweeps=answer", "dataset=cc18-adult", "dataset.target_kind=classes").cells
    shown = {
        (cell.config.regime.get("labels"), cell.config.pretrain.name, cell.config.method["name"]) for cell in asked
    }
    competitors = [("none", "control"), ("scarf", "control"), ("vime", "control"), ("none", "logistic")]
    budgets = {(n, *each) for n in (None, 20, 100, 500, 2500) for each in [*competitors, ("none", "random_forest")]}
    assert shown == budgets | {(None, "none", "constant")}
    assert {cell.config.recipe for cell in asked} == {"practical"}


@pytest.mark.slow
def test_the_sweep_of_columns_has_networks_and_a_rival_for_any_target() -> None:
    for dataset in ("wdbc", "diabetes"):
        asked = cells_of("sweeps=columns", f"dataset={dataset}")
        found = {(cell.config.pretrain.name, cell.config.method["name"]) for cell in asked}
        assert found == {("none", "control"), ("scarf", "control"), ("none", "random_forest")}
        assert {cell.config.recipe for cell in asked} == {"practical"}
