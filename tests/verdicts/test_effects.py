"""Which effects some cells have, against sums by hand; families of answers, and sides that have not learnt."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.metrics import metric_named
from scarf_lightning.verdicts import (
    Cell,
    Effect,
    Look,
    Plan,
    Product,
    answered,
    effects_of,
    error_parts,
)
from tests.reporting.cell_results import gains_at
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
    return effects_of(Plan(cells, axes, varied, metric_named(metric), reference, usual or cells[0].options))


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
    assert [(effect.reference, effect.over, effect.family) for effect in effects] == [
        ("a=0", "2 settings of b", "a"), ("b=0", "2 settings of a", "b"), ("a=0 × b=0", "", "interactions"),
    ]  # fmt: skip


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


BASE = {"pretrain": "scarf", "corruption": "marginal", "scaling": "zscore"}
CHANGES: list[dict[str, Any]] = [{}, {"corruption": "mean"}, {"scaling": "minmax"}]


def star(*changes: dict[str, Any], **known: Any) -> list[Cell]:
    cells = []
    for place, change in enumerate(changes):
        options = {axis: value for axis, value in (BASE | change).items() if value is not None}
        cells.append(cell(str(place), [0.9 - place / 10] * 3, options=options, **known))
    return cells


def changes(cells: Sequence[Cell], reference: str | None = None) -> list[str]:
    return [effect.what for effect in planned(cells, reference)[0] if effect.kind == "change"]


def test_a_star_names_each_change_and_its_base() -> None:
    cells = star(*CHANGES, {"pretrain": "none", "corruption": None})

    effects, product = planned(cells)

    assert product is None
    assert changes(cells) == ["corruption=mean", "scaling=minmax", "pretrain=none"]
    assert {effect.reference for effect in effects} == {"pretrain=scarf, corruption=marginal, scaling=zscore"}
    assert changes(cells, "0") == changes(cells)
    assert changes(star(*CHANGES), "1") == [], "another cell is no base"


@pytest.mark.parametrize(
    "cells",
    [
        star({}, {"corruption": "mean"}),
        star(*CHANGES, {"corruption": "mean", "scaling": "minmax"}),
        star(*CHANGES, labels=20),
    ],
    ids=["one axis", "a product", "labels"],
)
def test_other_cells_are_no_star(cells: list[Cell]) -> None:
    assert changes(cells) == []


def test_the_options_of_a_changed_part_belong_to_its_change() -> None:
    deep = {"network": "resnet", "network.depth": "4"}
    cells = star(*[{"network": "mlp", "network.depth": "2"} | change for change in (*CHANGES, deep)])

    assert changes(cells) == ["corruption=mean", "scaling=minmax", "network=resnet"]


def test_a_reference_that_fits_several_competitors_of_which_one_is_unused_is_the_most_usual() -> None:
    cells = star({}, {"corruption": "mean"}, {"pretrain": "none"})

    effects, _ = planned(cells, "scarf")

    assert {effect.what: effect.reference for effect in effects} == {"1": "0", "2": "0"}
    with pytest.raises(UsageError, match=r"reference=scraf .* an axis\. The competitors are: '0'"):
        planned(cells, "scraf")


@pytest.mark.parametrize(("named", "against"), [("1", "1"), ("pretrain=none", "2"), ("none", "2")])
def test_a_reference_is_a_competitor_or_a_value_of_an_axis(named: str, against: str) -> None:
    cells = star({}, {"corruption": "mean", "scaling": "minmax"}, {"pretrain": "none", "corruption": "mean"})

    assert {effect.reference for effect in planned(cells, named)[0]} == {against}


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
    assert (found.family, found.what, found.reference) == (
        "interactions", "scarf × 100 labels", "none × 20 labels",
    )  # fmt: skip
    assert [effect.family for effect in effects if effect is not found] == ["scarf", "scarf"]


def competing(n_tables: int, names: str = "ab") -> list[Cell]:
    """Competitors on so many tables, at two numbers of labels; a further table has the first one alone."""
    places = [(f"t{n}", name) for n in range(n_tables) for name in names] + [("alone", names[0])]
    return [
        cell(name, [0.6, 0.7, 0.8], table=table, labels=labels, context=f"{labels} labels")
        for labels in (20, 100)
        for table, name in places
    ]


def test_two_to_five_tables_with_several_competitors_have_answers_of_their_own() -> None:
    def contexts(n_tables: int) -> set[str]:
        return {effect.context for effect in planned(competing(n_tables))[0] if effect.kind == "competitor"}

    assert contexts(2) == {f"on t{n} with {labels} labels" for n in range(2) for labels in (20, 100)}
    assert len(contexts(5)) == 10
    # A table with one competitor is no second table, however many numbers of labels it has.
    assert contexts(1) == contexts(6) == {"20 labels", "100 labels"}


def test_a_competitor_without_a_trial_makes_no_further_table() -> None:
    cells = [*competing(1), cell("b", [], table="alone", labels=20, context="20 labels")]

    assert {effect.context for effect in planned(cells)[0]} >= {"20 labels"}


def beside(level: float, name: str = "scarf", gain: int = 1, faults: Sequence[str] = ("", ""), **known: Any) -> Effect:
    """A competitor whose gain, or loss, has a direction that is found at this level alone."""
    gains = gain * gains_at(level, known.pop("trials", 12), 1 / 9)
    one, other = cell(name, 0.6 + gains, fault=faults[0]), cell("none", np.full(len(gains), 0.6), fault=faults[1])
    ((effect,), _) = effects_of(Plan([one, other], (), (), ACCURACY, "none", margin=known.pop("margin", 0.01)))
    return replace(effect, **known)


def test_competitors_come_best_first_and_axes_in_their_order() -> None:
    ordered = [replace(beside(level, name), kind=kind) for name, level, kind in (
        ("x", 0.3, "interaction"), ("a", 0.3, "competitor"), ("y", 0.001, "axis"), ("b", 0.001, "competitor"),
    )]  # fmt: skip

    assert [each.what for each in answered(ordered)] == ["b", "a", "x", "y"]


FAULT = "predicts one class"


@pytest.mark.parametrize(
    ("gain", "faults", "reason"),
    [
        (-1, (FAULT, ""), "scarf has not learnt: it predicts one class"),
        (1, (FAULT, ""), ""),
        (1, ("", FAULT), "none has not learnt: it predicts one class"),
        (-1, ("", FAULT), ""),
    ],
)
def test_a_side_that_has_not_learnt_gives_no_answer_where_it_is_worse(
    gain: int, faults: tuple[str, str], reason: str
) -> None:
    (found,) = answered([beside(0.001, gain=gain, faults=faults)])

    assert found.verdict.reason == reason
    assert found.shown == ("undecided" if reason else ("helps" if gain > 0 else "hurts"))


@pytest.mark.parametrize(
    ("level", "trials", "n", "looks", "shown"),
    [
        (0.001, 12, 1, [], "helps"),
        (0.001, 8, 1, [], "undecided (8 trials)"),
        (0.03, 12, 4, [], "undecided (4 comparisons)"),
        (0.03, 12, 1, [10], "undecided (looked at before)"),
        (0.049, 12, 1, [11], "undecided (looked at before)"),
        (0.049, 12, 1, [], "undecided (level kept for later looks)"),
        (0.3, 12, 4, [10], "undecided"),
    ],
)
def test_an_undecided_answer_says_what_its_claim_lacks(
    level: float, trials: int, n: int, looks: list[int], shown: str
) -> None:
    found = answered([beside(level, trials=trials, margin=0.001)] * n, lambda _: [Look(trials) for trials in looks])

    assert [each.shown for each in found] == [shown] * n
