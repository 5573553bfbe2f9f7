"""Which trials a job has, under whose claims workers train them, and that no number depends on it."""

from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from scarf_lightning.engine import hardware
from scarf_lightning.estimators import load_model
from scarf_lightning.options import read
from scarf_lightning.results import is_claimed, load
from scarf_lightning.sweeping.cell import Cell, Job, plan_jobs, survey
from scarf_lightning.sweeping.launchers import forget, read_job, write_jobs
from scarf_lightning.sweeping.workers import divided
from tests.cells import finish, some_cell
from tests.processes import TINY, assert_equal_rows, in_the_way, started, train
from tests.processes import ended as ended_process

pytestmark = pytest.mark.usefixtures("in_tmp")


def jobs_of(*cells: Cell) -> list[Job]:
    return plan_jobs(survey(cells))


@pytest.fixture(autouse=True)
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial's numbers do not depend on the trials beside it."""
    monkeypatch.setattr(hardware, "is_exact", lambda _: True)


def scarf_cells() -> list[Cell]:
    """Cells that start from one pre-training."""
    methods = ("control", "dropout")
    return [some_cell(f"method={name}", pretrain="scarf", method={"name": name}, trials=6) for name in methods]


@pytest.mark.parametrize(
    ("seconds", "n_workers", "trials", "expected"),
    [
        # One job makes a part a worker, as far as it has trials.
        ([30.0], 2, 20, 2),
        ([30.0], 16, 5, 5),
        # Three on two workers would keep one of them waiting for a third of the time.
        ([30.0, 30.0, 30.0], 2, 20, 6),
        ([1.0] * 40, 2, 20, 40),
        # The long one alone is divided.
        ([150.0, *[10.0] * 3], 2, 20, 5),
    ],
)
def test_a_job_that_others_would_wait_for_is_divided_among_all_workers(
    seconds: list[float], n_workers: int, trials: int, expected: int
) -> None:
    jobs = []
    for seed, each in enumerate(seconds):
        cell = some_cell(f"seed={seed}", seed=seed, pretrain="none", trials=trials)
        cell.seconds = each
        jobs.append(Job([cell]))
    with ExitStack() as claims:
        dealt = divided(jobs, n_workers, claims)
        assert len(dealt) == expected


def test_parts_of_a_job_have_its_missing_trials_under_the_claims_of_the_run() -> None:
    one, other = scarf_cells()
    finish(other, trials=[0, 1, 4])

    with ExitStack() as claims:
        dealt = divided(jobs_of(one, other), 3, claims)
        assert [job.trials for job in dealt] == [[0, 1], [2, 3], [4, 5]]
        assert {cell.label for job in dealt for cell in job.cells} == {"method=control", "method=dropout"}
        places = [one.store, other.store, one.pretraining]
        assert all(place is not None and is_claimed(place.folder, 0.0) for place in places)
    assert not any(place is not None and is_claimed(place.folder, 0.0) for place in places)


def test_a_job_is_left_whole_where_numbers_depend_on_the_stack_or_curves_are_live_or_another_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cells = scarf_cells()
    logger = replace(cells[0].config.logger, others={"csv": {"_target_": "pytorch_lightning.loggers.CSVLogger"}})
    logged = [replace(cell, config=replace(cell.config, logger=logger)) for cell in cells]
    with ExitStack() as claims:
        dealt = divided(jobs_of(*logged), 2, claims)
        assert [(job.cells, job.trials) for job in dealt] == [(logged, None)]
    with finish(cells[1], trials=[]).claim(), ExitStack() as claims:
        dealt = divided(jobs_of(*cells), 2, claims)
        assert [job.trials for job in dealt] == [None]
    monkeypatch.setattr(hardware, "is_exact", lambda _: False)
    with ExitStack() as claims:
        dealt = divided(jobs_of(*cells), 2, claims)
        assert [job.trials for job in dealt] == [None]


SWEEP = ["pretrain=scarf", "trials=6", "-m", "method=control,dropout", "keep_weights=true", *TINY]


@pytest.mark.slow
def test_divided_cells_have_the_numbers_and_the_models_of_cells_that_are_trained_whole(tmp_path: Path) -> None:
    for number in (1, 3):
        (tmp_path / str(number)).mkdir()
        ran = train(*SWEEP, f"workers={number}", cwd=tmp_path / str(number), minutes=5)
        assert ran.returncode == 0, ran.stderr

    whole, in_parts = tmp_path / "1" / "results", tmp_path / "3" / "results"
    assert_equal_rows(whole, in_parts)
    for results, n_stacks in ((whole, 2), (in_parts, 6)):
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


def test_a_job_comes_back_as_it_was_written_and_those_of_another_sweep_stay(tmp_path: Path) -> None:
    dealt = [Job(scarf_cells()), Job([replace(some_cell("x=1", "y='a b'", pretrain="none"), is_alone=True)])]
    folders = [tmp_path / "chunks" / name for name in ("one", "other")]
    files = [write_jobs(dealt, folder) for folder in folders]

    for file, job in zip(files[0], dealt, strict=True):
        # `some_cell` leaves options out that a job reads.
        expected = [vars(replace(cell, config=read(asdict(cell.config)))) for cell in job.cells]
        assert [vars(cell) for cell in read_job(file)] == expected
    forget(folders[0])
    assert list((tmp_path / "chunks").iterdir()) == folders[1:]
    forget(folders[1])
    assert list(tmp_path.iterdir()) == []
