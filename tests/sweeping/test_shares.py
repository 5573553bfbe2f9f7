"""Shares of cells: how many there are, whose claims they are trained under, and that no number depends on them."""

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from scarf_lightning.cli.running import OwnTraining
from scarf_lightning.estimators import load_model
from scarf_lightning.options.settings import TrainerSettings
from scarf_lightning.results import LostClaimError, claim, is_claimed, known_data, load
from scarf_lightning.sweeping.cell import Cell, survey
from scarf_lightning.sweeping.plan import Group, make_plan
from scarf_lightning.sweeping.shares import divided
from tests.cells import finish, some_cell
from tests.processes import TINY, assert_equal_rows, in_the_way, started, train
from tests.processes import ended as ended_process

pytestmark = pytest.mark.usefixtures("in_tmp")


class Exact(OwnTraining):
    """A machine on which a trial's numbers do not depend on the trials beside it, or do."""

    def __init__(self, *, exact: bool = True) -> None:
        self.exact = exact

    def is_exact(self, settings: TrainerSettings) -> bool:
        return self.exact


def groups_of(*cells: Cell) -> list[Group]:
    return make_plan(survey(cells)).groups


def scarf_cells(n: int = 2, trials: int = 6) -> list[Cell]:
    """Cells that start from one pre-training."""
    methods = ("control", "dropout", "mixup")[:n]
    return [some_cell(f"method={name}", pretrain="scarf", method={"name": name}, trials=trials) for name in methods]


@pytest.mark.parametrize(
    ("seconds", "n_workers", "trials", "expected"),
    [
        # One group makes a share a worker, as far as it has trials.
        ([30.0], 2, 20, 2),
        ([30.0], 16, 30, 16),
        ([30.0], 16, 5, 5),
        # Three on two workers would keep one of them waiting for a third of the time.
        ([30.0, 30.0, 30.0], 2, 20, 6),
        ([1.0] * 40, 2, 20, 40),
        # The long one alone is divided.
        ([150.0, *[10.0] * 3], 2, 20, 5),
    ],
)
def test_a_group_that_others_would_wait_for_is_divided_among_all_workers(
    seconds: list[float], n_workers: int, trials: int, expected: int
) -> None:
    cells = [some_cell(f"seed={seed}", seed=seed, pretrain="none", trials=trials) for seed in range(len(seconds))]
    groups = [replace(group, supervised=[each]) for group, each in zip(groups_of(*cells), seconds, strict=True)]

    with divided(groups, n_workers, Exact(), print) as chunks:
        assert len(chunks) == expected


def test_each_share_has_missing_trials_under_the_claims_of_the_run() -> None:
    one, other = scarf_cells()
    finish(other, trials=[0, 1, 4])
    (group,) = groups_of(one, other)
    assert group.missing == [0, 1, 2, 3, 4, 5]

    with divided([group], 3, Exact(), print) as chunks:
        divided_trials = [
            [(cell.overrides[0], cell.share.trials) for cell in chunk.cells if cell.share] for chunk in chunks
        ]
        assert divided_trials == [
            [("method=control", (0, 1))],
            [("method=control", (2, 3)), ("method=dropout", (2, 3))],
            [("method=control", (4, 5)), ("method=dropout", (5,))],
        ]
        assert sum(chunk.seconds for chunk in chunks) == pytest.approx(group.seconds)
        assert not any(cell.is_alone for chunk in chunks for cell in chunk.cells), "the run shows their progress"
        places = [one.store(), other.store(), one.pretraining()]
        assert all(place is not None and is_claimed(place.folder, 0.0) for place in places)

    assert not any(place is not None and is_claimed(place.folder, 0.0) for place in places)


def test_a_group_is_left_whole_where_numbers_depend_on_the_stack_or_curves_are_live() -> None:
    cells = scarf_cells()
    with divided(groups_of(*cells), 2, Exact(exact=False), print) as chunks:
        assert [chunk.cells for chunk in chunks] == [cells]

    logger = replace(cells[0].config.logger, others={"csv": {"_target_": "pytorch_lightning.loggers.CSVLogger"}})
    logged = replace(cells[0], config=replace(cells[0].config, logger=logger))
    with divided(groups_of(logged), 2, Exact(), print) as chunks:
        assert [chunk.cells for chunk in chunks] == [[logged]]


def test_the_run_notes_the_data_before_it_divides() -> None:
    (cell, _) = cells = scarf_cells()
    assert known_data(cell.results, cell.source) is None

    with divided(groups_of(*cells), 2, Exact(), print):
        assert known_data(cell.results, cell.source) is not None


def test_a_worker_checks_the_claim_that_it_is_sent_and_does_not_release_it(tmp_path: Path) -> None:
    with claim(tmp_path) as held:
        sent = pickle.loads(pickle.dumps(held))
        sent.check()
        del sent
        assert is_claimed(tmp_path, 0.0)
        sent = pickle.loads(pickle.dumps(held))

    with pytest.raises(LostClaimError):
        sent.check()


SWEEP = ["pretrain=scarf", "trials=6", "-m", "method=control,dropout", "keep_weights=true", *TINY]


@pytest.mark.slow
def test_divided_cells_have_the_numbers_and_the_models_of_cells_that_are_trained_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 3):
        (tmp_path / str(number)).mkdir()
        ran = train(*SWEEP, f"workers={number}", cwd=tmp_path / str(number), minutes=5)
        assert ran.returncode == 0, ran.stderr
    whole, in_shares = tmp_path / "1" / "results", tmp_path / "3" / "results"

    assert_equal_rows(whole, in_shares)
    for results, n_stacks in ((whole, 2), (in_shares, 6)):
        assert len([*results.glob("*/stacks/*")]) == n_stacks
        assert len([*results.glob("pretrained/*/trials/*")]) == 6
        assert [load_model(cell.parent).trials for cell in results.glob("*/cell.json")] == [[*range(6)]] * 2
        assert in_the_way(results) == []


@pytest.mark.slow
def test_two_runs_that_divide_the_same_cells_train_each_trial_once(tmp_path: Path) -> None:
    with started(*SWEEP, "workers=2", cwd=tmp_path) as one, started(*SWEEP, "workers=2", cwd=tmp_path) as other:
        ran = [ended_process(process, minutes=5) for process in (one, other)]

    assert [each.returncode for each in ran] == [0, 0], ran
    stacks = sorted(path.name[:9] for path in (tmp_path / "results").glob("*/stacks/*"))
    assert stacks == ["0000-0002", "0000-0002", "0003-0005", "0003-0005"]
    assert len(load(tmp_path / "results")) == 12
    assert in_the_way(tmp_path / "results") == []
