import math
from typing import Any

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.report.competitors import distinguishing, grid_over_reference, labels, scored, select
from tests.report.cell_results import results_of

RATE = "corruption.rate"


def cell(dataset: str, pretrain: str, **columns: Any) -> dict[str, Any]:
    return {"dataset": dataset, "pretrain": pretrain, "method": "control", "regime": "full"} | columns


MATERIAL = results_of(
    [
        (cell("iris", "none"), [0.8, 0.9]),
        (cell("iris", "scarf", corruption="marginal", **{RATE: 0.3}), [0.8, 0.9]),
        (cell("iris", "scarf", corruption="marginal", **{RATE: 0.6}), [0.7, math.nan]),
        (cell("iris", "scarf_ae", corruption="marginal", **{RATE: 0.6}), []),
        (cell("wine", "none"), [0.5, 0.6]),
    ]
)


@pytest.mark.parametrize(
    ("where", "chosen"),
    [
        (None, [0, 1, 2, 3, 4]),
        ({"pretrain": "scarf"}, [1, 2]),
        ({"pretrain": ["none", "scarf_ae"], "dataset": "iris"}, [0, 3]),
        ({RATE: [0.6, None]}, [0, 2, 3, 4]),
        ({RATE: None}, [0, 4]),
    ],
)
def test_where_chooses_cells_by_their_columns(where: dict[str, Any] | None, chosen: list[int]) -> None:
    assert list(select(MATERIAL, where).index) == chosen


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ({"corruption.rat": 0.6}, "No cell uses corruption.rat; the columns are: corruption, corruption.rate."),
        (
            {"pretrian": "none"},
            f"No cell uses pretrian; the columns are: dataset, pretrain, method, regime, corruption, {RATE}.",
        ),
        ({"pretrain": "scarf_disc"}, "No cell has pretrain=scarf_disc."),
        ({"fingerprint": "0" * 16}, None),
    ],
)
def test_where_that_chooses_nothing_says_so(where: dict[str, Any], sentence: str | None) -> None:
    with pytest.raises(UsageError) as refused:
        select(MATERIAL, where)
    assert sentence is None or str(refused.value) == sentence


def test_cells_are_called_by_what_they_use() -> None:
    assert list(labels(MATERIAL.cells, ["pretrain", RATE])) == [
        "none",
        "scarf + 0.3",
        "scarf + 0.6",
        "scarf_ae + 0.6",
        "none",
    ]
    assert list(labels(MATERIAL.cells, [RATE])) == ["none", "0.3", "0.6", "0.6", "none"]


def test_columns_that_follow_from_others_do_not_tell_cells_apart() -> None:
    results = results_of(
        [
            (cell("iris", "none"), [1]),
            (cell("iris", "scarf", loss="infonce", **{"pretrain.batch_size": 128}), [1]),
            (cell("iris", "scarf", loss="barlow_twins", **{"pretrain.batch_size": 128}), [1]),
            (cell("unscaled", "none", scaling="none"), [1]),
        ]
    )

    assert distinguishing(results.cells, results.axes) == ["pretrain", "loss"]
    assert distinguishing(results.cells, results.axes, beyond=["loss"]) == []


def test_scores_count_cells_that_have_none() -> None:
    found = scored(MATERIAL, MATERIAL.cells, ["pretrain", RATE])

    assert found.competitors == ["none", "scarf + 0.3", "scarf + 0.6"]
    assert found.empty == ["scarf_ae + 0.6"]
    rows = found.scores.set_index(["dataset", "competitor", "trial"])["value"]
    assert rows["iris", "scarf + 0.3", 1] == 0.9
    assert math.isnan(rows["iris", "scarf_ae + 0.6", 0])
    assert len(rows) == 2 + 2 + 1 + 1 + 2


def test_scores_need_a_finished_trial_and_a_known_column() -> None:
    with pytest.raises(UsageError, match=r"^None of these cells has a finished trial\.$"):
        scored(MATERIAL, select(MATERIAL, {"pretrain": "scarf_ae"}), ["pretrain"])
    with pytest.raises(UsageError, match=r"^No cell uses views; "):
        scored(MATERIAL, MATERIAL.cells, ["views"])


def test_a_grid_puts_each_column_against_the_reference_of_its_row() -> None:
    cells = results_of(
        [
            (cell("iris", "none"), [1]),
            (cell("iris", "scarf"), [1]),
            (cell("iris", "none", method="mixup"), [1]),
            (cell("iris", "scarf", method="mixup"), [1]),
            (cell("iris", "scarf", method="distill"), [1]),
        ]
    ).cells

    grid, alone = grid_over_reference(cells, ["regime", "method"], ["pretrain"], "none")

    assert grid == {
        ("full + control", "scarf"): ("full + control + scarf", "full + control + none"),
        ("full + mixup", "scarf"): ("full + mixup + scarf", "full + mixup + none"),
    }
    assert alone == ["full + distill"]
    with pytest.raises(UsageError, match=r"^No cell is the reference scarf_ae; pretrain has: none, scarf\.$"):
        grid_over_reference(cells, ["method"], ["pretrain"], "scarf_ae")
