"""Which effects some cells have: products, stars, references and labels; differences against sums by hand."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.metrics import metric_named
from scarf_lightning.verdicts import Cell, Effect, Trials, compare, error_parts
from scarf_lightning.verdicts.effects import Sums
from scarf_lightning.verdicts.planning import Plan, Product, effects_of
from tests.verdicts.worlds import cell, right_in_rows

ACCURACY, LOG_LOSS = metric_named("accuracy"), metric_named("log_loss")
TWO = {"a": "01", "b": "01"}
THREE = {"a": "xyz", "b": "01", "c": "01"}


def planned(
    cells: Sequence[Cell],
    reference: str | None = None,
    metric: str = "accuracy",
    usual: Mapping[str, str] | None = None,
) -> tuple[list[Effect], Product | None]:
    axes = list(dict.fromkeys(axis for cell in cells for axis in cell.options))
    varied = [axis for axis in axes if len({cell.options.get(axis) for cell in cells}) > 1]
    return effects_of(Plan(cells, axes, varied, reference, usual or cells[0].options), Sums(metric_named(metric)))


def grid(level: Any, axes: Mapping[str, str] = TWO, **known: Any) -> list[Cell]:
    """A cell a setting, whose trials go up and down around its level."""
    cells = []
    for setting in itertools.product(*axes.values()):
        options = dict(zip(axes, setting, strict=True))
        values = level(*setting) + 0.01 * np.array([1, -1] * 3)
        cells.append(cell(", ".join(setting), values, options=options, **known))
    return cells


def differences(effects: Sequence[Effect]) -> dict[str, Any]:
    return {effect.what: pytest.approx(effect.verdict.difference) for effect in effects}


def test_an_effect_is_the_mean_difference_over_the_settings_of_the_others() -> None:
    means = {"00": 0.70, "01": 0.80, "10": 0.76, "11": 0.78}

    effects, product = planned(grid(lambda a, b: means[a + b]))

    assert product is not None
    assert product.axes == {"a": ["0", "1"], "b": ["0", "1"]}
    assert differences(effects) == {
        "a=1": (0.06 - 0.02) / 2, "b=1": (0.10 + 0.02) / 2, "a=1 × b=1": 0.02 - 0.10,
    }  # fmt: skip
    assert [(effect.reference, effect.against, effect.over, effect.family) for effect in effects] == [
        ("a=0", "a=0", "of both bs", "a"),
        ("b=0", "b=0", "of both as", "b"),
        ("a=0 × b=0", "", "", "interactions"),
    ]


def test_three_axes_have_each_value_and_each_two_axes() -> None:
    def level(a: str, b: str, c: str) -> float:
        return 0.5 + 0.03 * (a == "z") + 0.05 * int(b) + 0.04 * (a == "z") * int(b)

    effects, _ = planned(grid(level, THREE))

    assert differences(effects) == {
        "a=y": 0, "a=z": 0.03 + 0.04 / 2, "b=1": 0.05 + 0.04 / 3, "c=1": 0,
        "a=y × b=1": 0, "a=z × b=1": 0.04, "a=y × c=1": 0, "a=z × c=1": 0, "b=1 × c=1": 0,
    }  # fmt: skip


def test_relative_effects_divide_by_the_reference_and_interactions_by_the_mean() -> None:
    means = {"00": 0.4, "01": 0.6, "10": 0.3, "11": 0.3}

    effects, _ = planned(grid(lambda a, b: means[a + b]), metric="log_loss")

    assert differences(effects) == {
        "a=1": (0.5 - 0.3) / 0.5, "b=1": (0.35 - 0.45) / 0.35, "a=1 × b=1": ((0.6 - 0.3) - (0.4 - 0.3)) / 0.4,
    }  # fmt: skip


def test_the_error_of_an_effect_is_that_of_the_contrast_of_each_row() -> None:
    right = {setting: right_in_rows(place, 0.6 + 0.1 * place) for place, setting in enumerate(("00", "01", "10", "11"))}
    cells = []
    for (a, b), (trials, _) in right.items():
        cells.append(Cell("iris", f"{a}, {b}", trials, {"a": a, "b": b}))

    effects, _ = planned(cells)

    tested = [rows.rows for rows in cells[0].trials.rows.values()]
    its = {setting: values.astype(float) for setting, (_, values) in right.items()}
    one = (its["10"] + its["11"] - its["00"] - its["01"]) / 2
    both = its["11"] - its["01"] - its["10"] + its["00"]
    for effect, contrast, added in ((effects[0], one, 1.0), (effects[2], both, 2.0)):
        values = [contrast[trial, rows] for trial, rows in enumerate(tested)]
        expected = error_parts(values, tested, 40.0, np.array([[added, -added]]))
        assert effect.verdict.parts is not None
        assert effect.verdict.parts.error == pytest.approx(expected.error)
        assert effect.verdict.difference == pytest.approx(expected.mean)
        assert effect.verdict.basis == "rows and fits"


def test_only_trials_that_all_settings_have_count() -> None:
    cells = grid(lambda a, b: 0.7 + 0.1 * int(a))
    cells[3] = replace(cells[3], trials=Trials({t: v for t, v in cells[3].trials.values.items() if t != 3}))
    cells[0] = replace(cells[0], trials=Trials(dict(cells[0].trials.values) | {99: 0.1}))

    effect, *_ = planned(cells)[0]

    assert (effect.verdict.trials, effect.verdict.difference) == (5, pytest.approx(0.1))


def test_a_table_that_lacks_a_setting_is_left_out_of_a_product() -> None:
    cells = [each for n in range(8) for each in grid(lambda a, b: 0.7 + 0.05 * int(a), table=f"t{n}")]

    effects, product = planned(cells[:-1])

    assert product is not None
    assert product.left_out == ["Left out of the answers by axis: t7 lacks 1 of 4 settings."]
    assert [effect.verdict.datasets for effect in effects] == [7, 7, 7]
    assert effects[0].verdict.answer == "helps"


@pytest.mark.parametrize(
    ("reference", "usual", "expected"),
    [
        (None, {}, "a=1"),
        (None, {"a": "1", "b": "0"}, "a=0"),
        ("a=1", {}, "a=0"),
    ],
)
def test_the_first_value_of_an_axis_is_the_named_one_or_the_usual_one(
    reference: str | None, usual: dict[str, str], expected: str
) -> None:
    effects, _ = planned(grid(lambda a, b: 0.7), reference, usual=usual)

    assert effects[0].what == expected


BASE = {"pretrain": "scarf", "corruption": "marginal", "scaling": "zscore"}
CHANGES: list[dict[str, Any]] = [{}, {"corruption": "mean"}, {"scaling": "minmax"}]


def star(*changes: dict[str, Any], **known: Any) -> list[Cell]:
    cells = []
    for place, change in enumerate(changes):
        options = {axis: value for axis, value in (BASE | change).items() if value is not None}
        has_network = change.get("method") is None
        cells.append(cell(str(place), [0.9 - place / 10] * 3, options=options, has_network=has_network, **known))
    return cells


def changes(cells: Sequence[Cell], reference: str | None = None) -> list[str]:
    return [effect.what for effect in planned(cells, reference)[0] if effect.kind == "change"]


def test_a_star_names_each_change_and_its_base() -> None:
    cells = star(*CHANGES, {"pretrain": "none", "corruption": None})

    effects, product = planned(cells)

    assert product is None
    assert changes(cells) == ["corruption=mean", "scaling=minmax", "pretrain=none"]
    assert {effect.reference for effect in effects} == {"pretrain=scarf, corruption=marginal, scaling=zscore"}
    assert {effect.against for effect in effects} == {"the base"}
    assert changes(cells, "0") == changes(cells)
    assert changes(star(*CHANGES), "1") == [], "another cell is no base"


@pytest.mark.parametrize(
    "cells",
    [
        star({}, {"corruption": "mean"}),
        star(*CHANGES, {"corruption": "mean", "scaling": "minmax"}),
        star(*CHANGES, {"method": "logistic"}),
        star(*CHANGES, labels=20),
    ],
    ids=["one axis", "a product", "a rival", "labels"],
)
def test_other_cells_are_no_star(cells: list[Cell]) -> None:
    assert changes(cells) == []


def test_the_options_of_a_changed_part_belong_to_its_change() -> None:
    deep = {"network": "resnet", "network.depth": "4"}
    cells = star(*[{"network": "mlp", "network.depth": "2"} | change for change in (*CHANGES, deep)])

    assert changes(cells) == ["corruption=mean", "scaling=minmax", "network=resnet"]


def test_a_reference_that_fits_several_competitors_of_which_one_is_unused_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^reference=scarf fits 2 of 3 competitors: 0; 1\. Name one of them"):
        planned(star({}, {"corruption": "mean"}, {"pretrain": "none"}), "scarf")


def test_labels_are_an_axis_of_interactions() -> None:
    """Scarf gains 5 points with 20 labels and 1 with 100: by hand 4 less."""
    cells = []
    for labels, gain in ((100, 0.01), (20, 0.05)):
        known = {"labels": labels, "context": f"{labels} labels"}
        cells.append(cell("none", [0.6] * 12, **known))
        cells.append(cell("scarf", 0.6 + gain + np.linspace(-0.001, 0.001, 12), **known))

    effects = planned(cells, "none")[0]

    (found,) = [effect for effect in effects if effect.kind == "interaction"]
    assert found.verdict.difference == pytest.approx(-0.04)
    assert (found.family, found.values, found.references) == (
        "interactions", ("scarf", "100 labels"), ("none", "20 labels"),
    )  # fmt: skip
    assert [effect.family for effect in effects if effect is not found] == ["scarf", "scarf"]


def test_answers_of_a_frame_over_labels_are_those_of_each_competitor_alone() -> None:
    random = np.random.default_rng(0)
    rows = []
    for trial, labels in itertools.product(range(12), (20, 40)):
        for name, gain in (("base", 0.0), ("one", 0.05), ("other", 0.01)):
            rows.append(("t", trial, name, labels, 0.7 + gain + labels / 400 + random.normal(0, 0.01)))
    frame = pd.DataFrame(rows, columns=["dataset", "trial", "competitor", "n_labels", "accuracy"])

    def found(of: pd.DataFrame) -> pd.DataFrame:
        effects = compare(of, metric="accuracy", reference="base", labels="n_labels").frame
        return effects[effects["context"] != ""]

    both = found(frame)
    for name in ("one", "other"):
        alone = found(frame[frame["competitor"].isin(["base", name])])
        pd.testing.assert_frame_equal(both[both["what"] == name].reset_index(drop=True), alone.reset_index(drop=True))
