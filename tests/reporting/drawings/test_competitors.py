"""Who competes: cells that are chosen, what they are called, and their scores."""

import math
from typing import Any

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.metrics import metric_named
from scarf_lightning.reporting.drawings.drawing import competing, grid_over_reference, named_by, select
from tests.reporting.cell_results import a_cell, results_of

RATE = "corruption.rate"
ACCURACY = metric_named("accuracy")


RESULTS = results_of(
    [
        a_cell([0.8, 0.9]),
        a_cell([0.8, 0.9], pretrain="scarf", corruption="marginal", corruption__rate=0.3),
        a_cell([0.7, math.nan], pretrain="scarf", corruption="marginal", corruption__rate=0.6),
        a_cell(pretrain="scarf_ae", corruption="marginal", corruption__rate=0.6),
        a_cell([0.5, 0.6], dataset="wine"),
    ]
)


@pytest.mark.parametrize(
    ("where", "chosen"),
    [
        ({}, [0, 1, 2, 3, 4]),
        ({"pretrain": "scarf"}, [1, 2]),
        ({"pretrain": ["none", "scarf_ae"], "dataset": "iris"}, [0, 3]),
        ({RATE: [0.6, None]}, [0, 2, 3, 4]),
        ({RATE: None}, [0, 4]),
        ({"corruption.rat": 0.6},
         "No cell uses corruption.rat. Did you mean corruption.rate? The columns are: corruption, corruption.rate."),
        ({"pretrian": "none"},
         "No cell uses pretrian. Did you mean pretrain? The columns are: dataset, regime, pretrain, method, network, "
         f"corruption, {RATE}."),
        ({"pretrain": "scarf_disc"}, "No cell has pretrain=scarf_disc."),
        ({"fingerprint": "0" * 16}, "No cell uses fingerprint. "),
    ],
)  # fmt: skip
def test_where_chooses_cells_by_their_columns_or_says_that_there_are_none(
    where: dict[str, Any], chosen: list[int] | str
) -> None:
    if isinstance(chosen, list):
        assert list(select(RESULTS, where).index) == chosen
        return
    with pytest.raises(UsageError) as refused:
        select(RESULTS, where)
    assert str(refused.value).startswith(chosen)


def test_cells_are_called_by_the_columns_that_they_use() -> None:
    none, unused = "pretrain=none", "corruption.rate=null"
    scarf, further, others = ("pretrain=scarf, corruption.rate=0.3", "pretrain=scarf, corruption.rate=0.6",
                              "pretrain=scarf_ae, corruption.rate=0.6")  # fmt: skip
    assert list(named_by(RESULTS.cells, ["pretrain", RATE])) == [none, scarf, further, others, none]
    assert list(named_by(RESULTS.cells, [RATE]))[:2] == [unused, "corruption.rate=0.3"]


def test_an_option_called_none_is_not_what_does_not_use_the_axis() -> None:
    corruptions = {"none": {}, "scarf": {"corruption": "none"}, "vime": {"corruption": "marginal"}}
    results = results_of([a_cell([0.8, 0.9], pretrain=p, **columns) for p, columns in corruptions.items()])

    found = grid_over_reference(results, results.cells, ["method"], ["corruption"], "none", ACCURACY)

    assert found.reference == "corruption=none"
    assert {reference for _, reference in found.pairs.values()} == {"method=control, corruption=none"}


def test_of_a_loss_lower_is_better() -> None:
    results = results_of([a_cell([0.5]), a_cell([0.4], pretrain="scarf")], metric="log_loss")

    scores = competing(results, results.cells, ["pretrain"], metric_named("log_loss")).scores

    assert scores["value"].tolist() == [-0.5, -0.4]
    with pytest.raises(UsageError, match=r"^No trial of these cells has the metric auroc\.$"):
        competing(results, results.cells, ["pretrain"], metric_named("auroc"))


def test_scores_count_cells_that_have_none() -> None:
    found = competing(RESULTS, RESULTS.cells, ["pretrain", RATE], ACCURACY)

    assert len(found.names) == 3
    assert found.empty == ["pretrain=scarf_ae, corruption.rate=0.6"]
    rows = found.scores.set_index(["dataset", "competitor", "trial"])["value"]
    assert rows["iris", "pretrain=scarf, corruption.rate=0.3", 1] == 0.9
    assert math.isnan(rows["iris", "pretrain=scarf_ae, corruption.rate=0.6", 0])
    assert len(rows) == 2 + 2 + 1 + 1 + 2
    with pytest.raises(UsageError, match=r"^None of these cells has a finished trial\.$"):
        competing(RESULTS, select(RESULTS, {"pretrain": "scarf_ae"}), ["pretrain"], ACCURACY)
    with pytest.raises(UsageError, match=r"^No cell uses views\. "):
        competing(RESULTS, RESULTS.cells, ["views"], ACCURACY)


def test_a_grid_puts_each_column_against_the_reference_of_its_row() -> None:
    of_methods = {"control": ("none", "scarf"), "mixup": ("none", "scarf"), "distill": ("scarf",)}
    results = results_of([a_cell([1], pretrain=p, method=m) for m, its in of_methods.items() for p in its])

    found = grid_over_reference(results, results.cells, ["regime", "method"], ["pretrain"], "none", ACCURACY)
    grid = found.pairs

    row = "regime=full, method={}"
    assert grid == {
        (row.format(method), "pretrain=scarf"): (
            f"{row.format(method)}, pretrain=scarf",
            f"{row.format(method)}, pretrain=none",
        )
        for method in ("control", "mixup")
    }
    with pytest.raises(
        UsageError, match=r"^No cell is the reference scarf_ae\. Did you mean scarf\? The values of pre"
    ):
        grid_over_reference(results, results.cells, ["method"], ["pretrain"], "scarf_ae", ACCURACY)
