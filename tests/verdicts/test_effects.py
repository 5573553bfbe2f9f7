"""Families of answers, sides that have not learnt, products, stars, and interactions with labels."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.metrics import metric_named
from scarf_lightning.verdicts import Cell, Effect, Trials, answered, compare, frame_of
from scarf_lightning.verdicts.effects import (
    Sums,
    effects_beside,
    effects_of_labels,
    effects_of_product,
    product_of,
    star_of,
)
from scarf_lightning.verdicts.looks import Look, spent
from tests.reporting.cell_results import gains_at

ACCURACY = metric_named("accuracy")
BY = Sums(ACCURACY)


def cell(name: str, values: Any, **known: Any) -> Cell:
    return Cell("iris", name, Trials(dict(enumerate(np.asarray(values).tolist())), test_to_train=1 / 9), **known)


def beside(gains: np.ndarray, name: str = "scarf", fault: str = "", reference_fault: str = "", **known: Any) -> Effect:
    """A competitor that gains this much in each trial, beside its reference."""
    reference = cell("none", np.full(len(gains), 0.6), fault=reference_fault, **known)
    (found,) = effects_beside([(cell(name, 0.6 + gains, fault=fault, **known), reference, "none")], BY)
    return found


def noisy(levels: Mapping[tuple, float], axes: tuple[str, ...], trials: int = 12, **known: Any) -> list[Cell]:
    """A cell a setting, near its level."""
    random = np.random.default_rng(1)
    cells = []
    for setting, level in levels.items():
        values = level + random.normal(0, 0.005, trials)
        cells.append(cell(", ".join(map(str, setting)), values, options=dict(zip(axes, setting, strict=True)), **known))
    return cells


@pytest.mark.parametrize(("names", "claims"), [(1, True), (2, False)])
def test_competitors_without_labels_are_one_family(names: int, claims: bool) -> None:
    """Holm's correction asks for 5 % over the number of competitors."""
    found = answered([beside(gains_at(0.03, 12, 1 / 9), name=f"c{n}") for n in range(names)])

    for effect in found:
        assert effect.verdict.levels.direction == pytest.approx(0.03 / spent([12])[0])
        assert effect.claimed.startswith("helps") is claims


def test_each_competitor_over_numbers_of_labels_is_a_family_and_so_is_a_baseline() -> None:
    """Two families of three are not one of six, and nobody asks whether a baseline helps."""
    gains = gains_at(0.012, 12, 1 / 9)
    effects = [beside(gains, name, labels=n) for name in ("scarf", "vime") for n in (20, 50, 100)]

    assert [each.claimed.startswith("helps") for each in answered(effects)] == [True] * 6
    alone = answered([beside(gains)])
    (one, _) = answered([beside(gains), beside(gains_at(1.0, 12), "constant", is_baseline=True)])
    assert one.needed == alone[0].needed


def test_each_factor_and_all_interactions_are_a_family_each() -> None:
    axes = {"a": ["a0", "a1", "a2"], "b": ["b0", "b1"]}
    cells = noisy({s: 0.7 + 0.05 * (s[0] == "a1") for s in itertools.product(*axes.values())}, tuple(axes))
    whole, left_out = product_of(cells, axes)

    found = answered(effects_of_product(whole, axes, BY))

    assert left_out == []
    assert [each.family for each in found] == ["a", "a", "b", "interactions", "interactions"]
    assert [each.over for each in found] == ["of both bs", "of both bs", "of all 3 as", "", ""]
    # The surest of two, one and two questions is held against this share of the level, and the other one against all.
    assert sorted(each.needed.direction for each in found[:2]) == pytest.approx([0.025, 0.05])
    assert [each.needed.direction for each in found[2:]] == pytest.approx([0.05, 0.025, 0.025])


def test_a_table_that_lacks_a_setting_is_left_out_of_a_product() -> None:
    axes = {"a": [0, 1], "b": [0, 1]}
    cells = noisy(dict.fromkeys(itertools.product(*axes.values()), 0.7), tuple(axes))
    other = [replace(each, table="wine") for each in cells[:3]]

    whole, left_out = product_of([*cells, *other], axes)

    assert list(whole[""]) == ["iris"]
    assert left_out == ["Left out of the answers by axis: wine lacks 1 of 4 settings."]


@pytest.mark.parametrize(
    ("gain", "side", "reason"),
    [
        (-1.0, "fault", "it predicts one class, so it has not learnt"),
        (1.0, "fault", ""),
        (1.0, "reference_fault", "none predicts one class, so it has not learnt"),
        (-1.0, "reference_fault", ""),
    ],
)
def test_a_side_that_has_not_learnt_gives_no_answer_where_it_is_worse(gain: float, side: str, reason: str) -> None:
    gains = gain * gains_at(0.001, 12, 1 / 9)

    (found,) = answered([beside(gains, **{side: "predicts one class"})])

    assert found.spoilt == found.verdict.reason == reason
    assert found.claimed == ("undecided" if reason else ("helps" if gain > 0 else "hurts"))


def test_a_spoilt_answer_stays_in_its_family() -> None:
    """Whether a side has learnt is seen in the same results as the levels, so it leaves no room to the others."""
    gains = gains_at(0.03, 12, 1 / 9)
    sound = beside(gains, name="vime")

    alone = answered([sound])
    (_, beside_a_spoilt_one) = answered([replace(beside(gains), spoilt="it is broken"), sound])

    assert alone[0].claimed == "helps, size open"
    assert beside_a_spoilt_one.claimed == "undecided"


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
    one = beside(gains_at(level, trials, 1 / 9))

    found = answered([one] * n, 0.001, lambda _: [Look(trials) for trials in looks])

    assert [each.shown for each in found] == [shown] * n


BASE = {"pretrain": "scarf", "corruption": "marginal", "scaling": "zscore"}
CHANGES: list[dict[str, Any]] = [{}, {"corruption": "mean"}, {"scaling": "minmax"}]


def star(*changes: dict[str, Any]) -> list[Cell]:
    cells = []
    for place, change in enumerate(changes):
        options = {axis: value for axis, value in (BASE | change).items() if value is not None}
        has_network = change.get("method") is None
        cells.append(cell(str(place), [0.9 - place / 10] * 3, options=options, has_network=has_network))
    return cells


AXES = (*BASE, "method", "network", "network.depth")


def test_a_star_names_each_change_and_its_base() -> None:
    pairs = star_of(star(*CHANGES, {"pretrain": "none", "corruption": None}), AXES)

    assert [one.name for one, _, _ in pairs] == ["corruption=mean", "scaling=minmax", "pretrain=none"]
    assert {other.name for _, other, _ in pairs} == {"pretrain=scarf, corruption=marginal, scaling=zscore"}
    assert star_of(star(*CHANGES), AXES, ["1"]) == [], "another cell is no base"


@pytest.mark.parametrize(
    "cells",
    [
        [{}, {"corruption": "mean"}],
        [*CHANGES, {"corruption": "mean", "scaling": "minmax"}],
        [*CHANGES, {"method": "logistic"}],
    ],
    ids=["one axis", "a product", "a rival"],
)
def test_other_cells_are_no_star(cells: list[dict[str, Any]]) -> None:
    assert star_of(star(*cells), AXES) == []


def test_the_options_of_a_changed_part_belong_to_its_change() -> None:
    deep = {"network": "resnet", "network.depth": 4}
    cells = star(*[{"network": "mlp", "network.depth": 2} | change for change in (*CHANGES, deep)])

    assert [one.name for one, _, _ in star_of(cells, AXES)] == ["corruption=mean", "scaling=minmax", "network=resnet"]


def test_labels_are_an_axis_of_interactions() -> None:
    """Scarf gains 5 points with 20 labels and 1 with 100: by hand 4 less."""
    effects = []
    for labels, gain in ((100, 0.01), (20, 0.05)):
        noise = np.linspace(-0.001, 0.001, 12)
        effects.append(beside(gain + noise, labels=labels, context=f"{labels} labels"))

    (found,) = effects_of_labels(effects, BY)

    assert found.verdict.difference == pytest.approx(-0.04)
    assert (found.kind, found.family, found.values, found.references) == (
        "interaction", "interactions", ("scarf", "100 labels"), ("none", "20 labels"),
    )  # fmt: skip


def test_the_frame_has_a_row_an_effect_with_all_of_its_numbers() -> None:
    (found,) = answered([beside(gains_at(0.001, 12, 1 / 9))])

    (row,) = frame_of([found]).to_dict("records")

    assert (row["what"], row["against"], row["n"], row["answer"]) == ("scarf", "none", 12, "helps")
    assert (row["difference"], row["low"], row["high"]) == found.verdict.interval
    assert row["p"] == pytest.approx(0.001 / spent([12])[0])


def test_answers_of_a_frame_over_labels_are_those_of_each_competitor_alone() -> None:
    random = np.random.default_rng(0)
    rows = []
    for trial in range(12):
        for labels in (20, 40):
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
