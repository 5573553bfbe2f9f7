"""Which cells and trials a job has, under whose claims workers train them, and that no number depends on it."""

import itertools
from dataclasses import asdict, replace
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scarf_lightning.cli.running import OwnTraining
from scarf_lightning.errors import UsageError
from scarf_lightning.estimators import load_model
from scarf_lightning.options import read
from scarf_lightning.options.run_settings import ChunkSettings
from scarf_lightning.options.settings import DatasetSettings, TrainerSettings
from scarf_lightning.results import is_claimed, known_data, load
from scarf_lightning.sweeping import jobs
from scarf_lightning.sweeping.cell import Cell, survey
from scarf_lightning.sweeping.jobs import Job, divided, forget, make_jobs, read_job, write_jobs
from scarf_lightning.sweeping.plan import Group, make_plan
from tests.cells import finish, some_cell
from tests.processes import TINY, assert_equal_rows, in_the_way, started, train
from tests.processes import ended as ended_process

pytestmark = pytest.mark.usefixtures("in_tmp")


def groups_of(*cells: Cell) -> list[Group]:
    return make_plan(survey(cells)).groups


def alone(n: int, seconds: float = 1.0, *, trials: int = 2, **chunk: object) -> list[Group]:
    """Groups of a cell each that take so long."""
    settings = ChunkSettings(**chunk)  # type: ignore[arg-type]
    cells = [some_cell(f"seed={k}", seed=k, pretrain="none", trials=trials, chunk=settings) for k in range(n)]
    return [replace(group, supervised=[seconds]) for group in groups_of(*cells)]


ANY_CELL = st.builds(
    lambda dataset, pretrain, method, seed: some_cell(
        f"{dataset} {pretrain} {method} {seed}",
        dataset=DatasetSettings("openml", dataset, str(dataset), size=[100 * dataset, 5]),
        pretrain=pretrain,
        method={"name": method},
        seed=seed,
    ),
    st.sampled_from([61, 31]),
    st.sampled_from(["none", "scarf", "scarf_ae"]),
    st.sampled_from(["control", "dropout"]),
    st.integers(0, 2),
)
SETTINGS = st.builds(
    ChunkSettings,
    minutes=st.one_of(st.none(), st.floats(0, 60)),
    max_jobs=st.one_of(st.none(), st.integers(1, 6)),
)
CELLS = st.lists(ANY_CELL, min_size=1, max_size=20, unique_by=lambda each: each.label)


@given(cells=CELLS, settings=SETTINGS, launcher=st.sampled_from(["joblib", "slurm", "another"]))
def test_cells_that_share_a_pretraining_share_a_job_and_datasets_stay_together(
    cells: list[Cell], settings: ChunkSettings, launcher: str
) -> None:
    cells = [replace(cell, config=replace(cell.config, chunk=settings)) for cell in cells]
    dealt = make_jobs(groups_of(*cells), launcher)

    trained = [cell for job in dealt for cell in job.cells]
    assert sorted(cell.label for cell in trained) == sorted(cell.label for cell in cells)
    where = {(cell.pretraining_key, n) for n, job in enumerate(dealt) for cell in job.cells if cell.pretraining_key}
    assert len(where) == len({key for key, _ in where})
    assert all(job.cells for job in dealt)
    assert settings.max_jobs is None or len(dealt) <= settings.max_jobs
    datasets = [name for name, _ in itertools.groupby(cell.source.key for cell in trained)]
    assert len(datasets) == len(set(datasets))


def test_a_job_is_worth_its_start() -> None:
    sizes = {
        "slurm": ("slurm", alone(60, 60.0), [20, 20, 20]),
        "joblib has four a core": ("joblib", alone(24), [3] * 8),
        "another launcher": ("another", alone(3), [1] * 3),
        "as the user asks": ("slurm", alone(3, minutes=0), [1] * 3),
        "no more than": ("joblib", alone(11, max_jobs=2), [6, 5]),
    }
    with patch.object(jobs, "usable_cores", return_value=2):
        for case, (launcher, groups, expected) in sizes.items():
            assert [len(job.cells) for job in make_jobs(groups, launcher)] == expected, case


class Exact(OwnTraining):
    """A machine on which a trial's numbers do not depend on the trials beside it, or do."""

    def __init__(self, *, exact: bool = True) -> None:
        self.exact = exact

    def is_exact(self, settings: TrainerSettings) -> bool:
        return self.exact


def scarf_cells() -> list[Cell]:
    """Cells that start from one pre-training."""
    methods = ("control", "dropout")
    return [some_cell(f"method={name}", pretrain="scarf", method={"name": name}, trials=6) for name in methods]


@pytest.mark.parametrize(
    ("seconds", "n_workers", "trials", "expected"),
    [
        # One group makes a job a worker, as far as it has trials.
        ([30.0], 2, 20, 2),
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
    groups = [
        replace(group, supervised=[each])
        for group, each in zip(alone(len(seconds), trials=trials), seconds, strict=True)
    ]
    with divided(groups, n_workers, Exact(), print) as dealt:
        assert len(dealt) == expected


def test_parts_of_a_group_have_its_missing_trials_under_the_claims_of_the_run() -> None:
    one, other = scarf_cells()
    finish(other, trials=[0, 1, 4])
    (group,) = groups_of(one, other)

    with divided([group], 3, Exact(), print) as dealt:
        assert [(job.trials, [cell.overrides[0] for cell in job.cells]) for job in dealt] == [
            ([0, 1], ["method=control"]),
            ([2, 3], ["method=control", "method=dropout"]),
            ([4, 5], ["method=control", "method=dropout"]),
        ]
        assert sum(job.seconds for job in dealt) == pytest.approx(group.seconds)
        places = [one.store(), other.store(), one.pretraining()]
        assert all(place is not None and is_claimed(place.folder, 0.0) for place in places)
    assert not any(place is not None and is_claimed(place.folder, 0.0) for place in places)


def test_a_group_is_left_whole_where_numbers_depend_on_the_stack_or_curves_are_live() -> None:
    cells = scarf_cells()
    logger = replace(cells[0].config.logger, others={"csv": {"_target_": "pytorch_lightning.loggers.CSVLogger"}})
    logged = [replace(cell, config=replace(cell.config, logger=logger)) for cell in cells]
    for whole, exact in ((cells, False), (logged, True)):
        with divided(groups_of(*whole), 2, Exact(exact=exact), print) as dealt:
            assert [job.cells for job in dealt] == [whole]


def test_the_run_notes_the_data_before_it_divides() -> None:
    (cell, _) = cells = scarf_cells()
    assert known_data(cell.results, cell.source) is None
    with divided(groups_of(*cells), 2, Exact(), print):
        assert known_data(cell.results, cell.source) is not None


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
    dealt = [
        Job(scarf_cells(), 1.0),
        Job([replace(some_cell("x=1", "y='a b'", pretrain="none"), is_alone=True)], 0.0),
    ]
    folder, other = write_jobs(dealt, tmp_path), write_jobs(dealt[:1], tmp_path)

    for file, job in zip(sorted(folder.glob("*.json")), dealt, strict=True):
        # `some_cell` leaves options out that a job reads.
        assert read_job(str(file)) == [replace(cell, config=read(asdict(cell.config))) for cell in job.cells]
        assert file.is_absolute()
    forget(folder)
    assert other.exists()
    forget(other)
    assert list(tmp_path.iterdir()) == []


def test_a_job_that_no_sweeper_started_says_so() -> None:
    with pytest.raises(UsageError, match=r"a job needs chunk\.file, which our sweeper sets"):
        read_job(None)
