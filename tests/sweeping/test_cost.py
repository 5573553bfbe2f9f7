import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from scarf_lightning.config.schema import DatasetSettings
from scarf_lightning.results import KnownData, note_data
from scarf_lightning.settings import NetworkSettings, TrainerSettings
from scarf_lightning.sweeping.cell import Cell
from scarf_lightning.sweeping.cost import RIDGE, CostModel
from scarf_lightning.sweeping.phases import Phase, pretraining, size, supervised
from scarf_lightning.sweeping.survey import State, SurveyedCell
from tests.cells import results_in, some_cell

METHODS = ("control", "dropout", "self_train")
PRETRAININGS = ("none", "scarf", "scarf_ae")


def sized(results: Path, n_rows: int, n_columns: int, method: str, pretrain: str, **chosen: Any) -> Cell:
    """A cell of data of this size."""
    name = f"{n_rows}x{n_columns}"
    dataset = DatasetSettings("csv", path=str(results / f"{name}.csv"), target="y", name=name)
    (results / f"{name}.csv").touch()
    cell = some_cell(dataset=dataset, method={"name": method}, pretrain=pretrain, paths=results_in(results), **chosen)
    note_data(cell.results, cell.source, KnownData(name, n_rows, n_columns, 2))
    return cell


def finished(cell: Cell, seconds: dict[str, float]) -> SurveyedCell:
    rows = [{"trial": t, **{f"{phase}_seconds": value for phase, value in seconds.items()}} for t in (0, 1)]
    return SurveyedCell(cell, State.FINISHED, rows)


def cells(folder: Path, n: int) -> list[Cell]:
    draw = np.random.default_rng(3)
    return [
        sized(folder, int(draw.integers(100, 50_000)), int(draw.integers(3, 900)), METHODS[i % 3], PRETRAININGS[i % 3])
        for i in range(n)
    ]


def noisy(folder: Path, n: int = 15) -> list[SurveyedCell]:
    """Finished cells whose times scatter."""
    draw = np.random.default_rng(4)
    return [finished(c, {"pretrain": draw.lognormal(), "finetune": draw.lognormal()}) for c in cells(folder, n)]


def recorded(surveyed: list[SurveyedCell]) -> list[tuple[Phase, float]]:
    pairs = []
    for each in surveyed:
        if (phase := pretraining(each.cell)) is not None:
            pairs.append((phase, each.rows[0]["pretrain_seconds"]))
        pairs.append((supervised(each.cell), each.rows[0]["finetune_seconds"]))
    return pairs


def test_with_nothing_recorded_the_rule_stands_alone(tmp_path: Path) -> None:
    waiting = SurveyedCell(sized(tmp_path, 1000, 30, "control", "scarf"), State.WAITING, [])
    model = CostModel([waiting])

    for phase in (supervised(waiting.cell), pretraining(waiting.cell)):
        assert phase is not None
        assert model.seconds(phase) == phase.rule
    assert model.errors.size == 0
    assert math.isnan(model.error_factor(0.5))


def test_the_rule_grows_with_rows_and_columns_and_the_number_of_fits() -> None:
    rule = Phase("finetune", "control", 1000, 30).rule

    assert Phase("finetune", "control", 10_000, 30).rule == pytest.approx(10 * rule, rel=0.1)
    assert Phase("finetune", "control", 1000, 3000).rule > 2 * rule
    assert Phase("finetune", "tri_train", 1000, 30, 24).rule == pytest.approx(24 * rule)
    assert Phase("pretrain", "scarf", 1000, 30).rule > rule


def test_what_is_recorded_scales_the_rule(tmp_path: Path) -> None:
    """A machine that takes three times as long is learnt, but for what the ridge holds back."""
    found = cells(tmp_path, 60)
    surveyed = []
    for cell in found:
        phase = pretraining(cell)
        seconds = {"finetune": 3 * supervised(cell).rule} | ({"pretrain": 3 * phase.rule} if phase else {})
        surveyed.append(finished(cell, seconds))

    model = CostModel(surveyed)

    for cell in cells(tmp_path, 9):
        assert model.seconds(supervised(cell)) == pytest.approx(3 * supervised(cell).rule, rel=0.1)
    assert model.error_factor(0.9) < 1.1


def test_data_that_follow_the_model_are_recovered_exactly_without_the_ridge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times that go as powers of rows and columns, with a factor a kind."""
    monkeypatch.setattr("scarf_lightning.sweeping.cost.RIDGE", 1e-9)
    factor = {"control": 1.5, "dropout": 0.2, "self_train": 7.0, "none": 1.0, "scarf": 3.0, "scarf_ae": 0.6}

    def true(phase: Phase) -> float:
        return float(phase.rule * factor[phase.kind] * (phase.n_rows / 1000) ** 0.3 * (phase.n_columns / 30) ** -0.2)

    surveyed = []
    for cell in cells(tmp_path, 40):
        phase = pretraining(cell)
        surveyed.append(
            finished(cell, {"finetune": true(supervised(cell))} | ({"pretrain": true(phase)} if phase else {}))
        )

    model = CostModel(surveyed)

    rows, columns, _ = zip(*(size(each.cell) for each in surveyed), strict=True)
    new = Phase("finetune", "self_train", round(np.median(rows)), round(np.median(columns)))
    assert model.seconds(new) == pytest.approx(true(new), rel=1e-5)
    assert model.error_factor(1.0) == pytest.approx(1, abs=1e-5)
    beyond, edge = Phase("finetune", "self_train", 10 * max(rows), 1), Phase("finetune", "self_train", max(rows), 1)
    within = Phase("finetune", "self_train", max(rows), min(columns))
    assert model.seconds(beyond) / beyond.rule == pytest.approx(model.seconds(edge) / edge.rule)
    assert model.seconds(edge) / edge.rule == pytest.approx(true(within) / within.rule, rel=1e-5)


@pytest.mark.parametrize(
    "other", [{"network": NetworkSettings(name="resnet")}, {"trainer": TrainerSettings(precision="bf16-mixed")}]
)
def test_what_another_network_or_precision_takes_is_learnt_for_all_methods(
    other: dict[str, Any], tmp_path: Path
) -> None:
    """With the default, cells take what the rule says, with the other three times as long."""
    surveyed = []
    for n_rows in range(200, 4200, 200):
        for chosen in ({}, other):
            cell = sized(tmp_path, n_rows, 30, "control", "none", **chosen)
            surveyed.append(finished(cell, {"finetune": (3 if chosen else 1) * supervised(cell).rule}))

    model = CostModel(surveyed)

    for times, chosen in ((1, {}), (3, other)):
        phase = supervised(sized(tmp_path, 1000, 30, "mixup", "none", **chosen))
        assert model.seconds(phase) == pytest.approx(times * phase.rule, rel=0.1)


def test_a_kind_that_was_never_recorded_has_the_correction_of_the_others(tmp_path: Path) -> None:
    surveyed = [finished(sized(tmp_path, n, 30, "control", "none"), {"finetune": 5.0 * n / 1000}) for n in (500, 2000)]

    model = CostModel(surveyed)

    known, unknown = Phase("finetune", "control", 1000, 30), Phase("finetune", "mixup", 1000, 30)
    assert unknown.rule < model.seconds(unknown) < model.seconds(known)


def test_only_finished_cells_count(tmp_path: Path) -> None:
    surveyed = noisy(tmp_path)
    others = [SurveyedCell(each.cell, State.RUNNING, each.rows) for each in noisy(tmp_path / "..", 3)]
    phase = supervised(surveyed[0].cell)

    assert CostModel([*surveyed, *others]).seconds(phase) == CostModel(surveyed).seconds(phase)


def test_the_error_is_that_of_a_refit_without_the_row(tmp_path: Path) -> None:
    """Leave-one-out in closed form against a ridge regression solved anew for each row."""
    surveyed = noisy(tmp_path)
    pairs = recorded(surveyed)
    kinds = sorted({(phase.name, phase.kind) for phase, _ in pairs})
    x: NDArray[np.float64] = np.array(
        [
            [1.0, np.log(p.n_rows / 1000), np.log(p.n_columns / 30), *((p.name, p.kind) == kind for kind in kinds)]
            for p, _ in pairs
        ]
    )
    y = np.array([np.log(seconds / phase.rule) for phase, seconds in pairs])
    expected = []
    for row in range(len(y)):
        rest = np.arange(len(y)) != row
        # Ridge as ordinary least squares with a pseudo-observation of zero a weight.
        padded = np.vstack([x[rest], np.sqrt(RIDGE) * np.eye(x.shape[1])])
        weights = np.linalg.lstsq(padded, np.append(y[rest], np.zeros(x.shape[1])), rcond=None)[0]
        expected.append(y[row] - x[row] @ weights)

    model = CostModel(surveyed)

    np.testing.assert_allclose(np.sort(model.errors), np.sort(expected), rtol=1e-9)
    assert model.error_factor(0.5) == pytest.approx(np.exp(np.median(np.abs(expected))))
    assert model.error_factor(0.9) == pytest.approx(np.exp(np.quantile(np.abs(expected), 0.9)))


def test_a_pretraining_that_cells_share_is_recorded_once(tmp_path: Path) -> None:
    """Its seconds are in the rows of all cells that start from it: leaving one of them out would leave out nothing."""
    control, larger = (sized(tmp_path, n_rows, 9, "control", "scarf") for n_rows in (300, 900))
    dropout = sized(tmp_path, 300, 9, "dropout", "scarf")
    alone = [finished(cell, {"pretrain": 3.0, "finetune": 1.0}) for cell in (control, larger)]
    sharing = finished(dropout, {"pretrain": 3.0, "finetune": 2.0})

    assert len(CostModel(alone).errors) == 2 + 2
    assert len(CostModel([*alone, sharing]).errors) == 2 + 3
