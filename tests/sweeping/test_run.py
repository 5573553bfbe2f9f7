import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hydra.core.utils import JobReturn, JobStatus

import scarf_lightning.sweeping.run as running
from scarf_lightning.cli import show
from scarf_lightning.cli.running import load_training
from scarf_lightning.cli.show import Terminal
from scarf_lightning.engine import hardware
from scarf_lightning.errors import UnfinishedError, UsageError
from scarf_lightning.options.settings import PathSettings
from scarf_lightning.results import (
    CellStore,
    LostClaimError,
    PretrainingStore,
    load,
    read_failure,
)
from scarf_lightning.sweeping.cell import Cell, distinct, survey
from scarf_lightning.sweeping.expand import ExpandedSweep
from scarf_lightning.sweeping.folders import SweepFile
from scarf_lightning.sweeping.launchers import launch_by
from scarf_lightning.sweeping.run import run
from tests.cells import DATA_HASH, finish, pretraining_identity_of, some_cell, some_pretrained
from tests.launching import FakeLauncher, Train

RESULTS = Path("results")
ENDED = "A job ended early; the same command goes on where it did. "


pytestmark = pytest.mark.usefixtures("in_tmp")


def ran(cells: list[Cell], train: Train = finish, **request: Any) -> tuple[int, list[list[tuple[str, ...]]]]:
    """The exit status, and what was launched, a job a group of cells that share something."""
    launcher = FakeLauncher(train)
    launch: Any = partial(launch_by, launcher)
    try:
        # What goes on meanwhile is not shown.
        with patch("scarf_lightning.sweeping.cell.doing", nullcontext):
            run(ExpandedSweep(cells, **request), load_training, Terminal(), launch)
    except UnfinishedError as error:
        print(error, file=sys.stderr)
        return error.status, launcher.launched
    return 0, launcher.launched


def seeds(*numbers: int, **chosen: Any) -> list[Cell]:
    """Cells that share nothing."""
    return [some_cell(f"seed={number}", seed=number, **chosen) for number in numbers]


def regime_of(share: float) -> dict[str, Any]:
    return {"name": "semi25", "labelled": share}


def methods(*names: str) -> list[Cell]:
    """Cells that share a pre-training."""
    return [some_cell(f"method={name}", method={"name": name}) for name in names]


def diverge(_: Cell) -> None:
    raise FloatingPointError("training diverged")


def launching(monkeypatch: pytest.MonkeyPatch, launch: Any) -> None:
    """Let a launcher's call do something else."""
    monkeypatch.setattr(FakeLauncher, "launch", lambda _, jobs, initial_job_idx: launch(jobs))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_is_surveyed_before_and_after(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    surveys = list[int]()

    def counted(cells: list[Cell]) -> Sequence[Cell]:
        surveys.append(len(cells))
        return survey(cells)

    monkeypatch.setattr(running, "survey", counted)
    monkeypatch.setattr(show, "survey", counted)
    cells = [replace(cell, config=replace(cell.config, workers=workers)) for cell in seeds(0, 1, 2)]
    finish(cells[0])

    def train(its: list[Cell], trials: object) -> None:
        finish(*its)

    monkeypatch.setattr(hardware, "is_exact", lambda _: False)

    run(ExpandedSweep(cells), lambda: train, Terminal())

    # Each cell that has ended is looked at by itself.
    assert [number for number in surveys if number > 1] == [3, 2]


class TestLaunching:
    def test_a_cell_is_launched_and_its_table_shown(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert ran(seeds(0), left_out=("method=a does not go with regime=b.",)) == (0, [[("seed=0",)]])

        shown = capsys.readouterr()
        assert ["accuracy", "0.5050"] in [line.split()[:2] for line in shown.out.splitlines()]
        assert shown.out.endswith(f"Results are in {RESULTS.absolute()}\n")
        assert shown.err == "Left out: method=a does not go with regime=b.\n"
        left = sorted(path.name for path in RESULTS.iterdir() if len(path.name) != 16)
        assert left == ["datasets"], "nothing of a launch is left behind"

    def test_equal_cells_are_launched_once_with_the_largest_number_of_trials(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        mean = {"name": "mean", "rate": 0.6}
        cells = [
            some_cell("pretrain=none", "corruption=marginal", pretrain="none", trials=1),
            some_cell("pretrain=none", "corruption=mean", pretrain="none", corruption=mean),
            some_cell("pretrain=scarf", "corruption=marginal"),
            some_cell("pretrain=scarf", "corruption=mean", corruption=mean),
        ]

        status, launched = ran(distinct(cells))

        assert status == 0
        assert sorted(each for job in launched for each in job) == sorted(cells[n].overrides for n in (1, 2, 3))
        assert capsys.readouterr().out.startswith("3 cells of dataset=wdbc, method=control")
        assert load()["trial"].tolist() == [0, 1] * 3

    @pytest.mark.parametrize(
        ("cells", "said"),
        [
            (seeds(1, paths=PathSettings(results="taken")), ["paths.results=taken cannot be used"]),
            (seeds(1, paths=PathSettings(results="/proc/nothing")), ["paths.results=/proc/nothing cannot be written"]),
            (
                [cell for share in (0.5, 2.0, 2.0, -1.0) for cell in seeds(1, regime=regime_of(share))],
                [f"regime.labelled={share}: " for share in (2.0, -1.0)],
            ),
        ],
        ids=["a file", "not writable", "a wrong option"],
    )
    def test_what_is_wrong_is_refused_before_anything_is_launched(self, cells: list[Cell], said: list[str]) -> None:
        Path("taken").touch()

        with pytest.raises(UsageError) as caught:
            ran(cells)

        lines = str(caught.value).split("\n")
        assert [line[: len(start)] for line, start in zip(lines, said, strict=True)] == said
        assert not RESULTS.exists()


class TestSkipping:
    def test_a_finished_cell_is_shown_again_without_a_launch_or_torch(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        finish(seeds(1)[0])
        with monkeypatch.context() as patched:
            patched.setattr("scarf_lightning.options.build_parts", None)
            assert ran(seeds(1)) == (0, [])

        shown = capsys.readouterr()
        assert "(finished already)" in shown.out
        assert "0.5050" in shown.out
        assert shown.err == ""

        assert ran(seeds(0, 1, 2)) == (0, [[("seed=0",)], [("seed=2",)]])
        assert "1 of 3 cells were finished already." in capsys.readouterr().out


class TestForce:
    def test_finished_cells_run_again_and_what_they_had_is_set_aside_once(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        requested = [*methods("control", "probe"), some_cell("pretrain=none", pretrain="none")]
        cells = [replace(cell, config=replace(cell.config, force=True)) for cell in requested]
        stores = [finish(cell, device="first") for cell in cells]
        pretraining = PretrainingStore(RESULTS, pretraining_identity_of(cells[0].config, DATA_HASH), 1.0)
        pretraining.add([some_pretrained(0)])
        stacks = [stack for store in stores for stack in (store.folder / "stacks").iterdir()]

        status, launched = ran([*cells, *seeds(1, force=True)], lambda cell: finish(cell, device="again"))

        assert (status, sum(map(len, launched))) == (0, 4)
        assert set(load()["device"]) == {"again"}
        for stack in stacks:
            assert len(list(RESULTS.glob(f"set_aside/*/{stack.relative_to(RESULTS)}"))) == 1
        assert len(list(RESULTS.glob(f"set_aside/*/pretrained/{pretraining.fingerprint}/trials/0000"))) == 1
        assert pretraining.missing([0]) == [0]
        said = [line for line in capsys.readouterr().err.splitlines() if " is set aside in results/set_aside/" in line]
        assert len(said) == 4
        assert all(line.endswith(": force=true trains it again.") for line in said)

    def test_what_another_process_trains_is_left_alone(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (cell,) = seeds(0, force=True)
        with elsewhere(cell, monkeypatch, lambda: finish(cell), trials=[0]):
            assert ran([cell]) == (0, [])

        assert "is being trained by another process and is left alone" in capsys.readouterr().err
        assert not Path("results/set_aside").exists()

    @pytest.mark.parametrize("wrong", [{"workers": 2}, {"method": {"name": "control", "depth": 9}}])
    def test_a_run_that_is_refused_leaves_what_is_finished(self, wrong: dict[str, Any]) -> None:
        (cell,) = seeds(0, force=True, **wrong)
        store = finish(cell)

        # FakeLauncher starts processes itself.
        with pytest.raises(UsageError):
            ran([cell])
        assert store.missing([0, 1]) == []


class TestPlan:
    def test_it_trains_nothing_and_says_what_there_is_to_do(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert ran(seeds(0, plan=True)) == (0, [])
        assert list(Path().iterdir()) == [], "it leaves no file"

        capsys.readouterr()
        finish(seeds(1)[0])
        sweep = SweepFile("some", "Accuracy by seed", [{}], paper="Figure 7")
        assert ran(seeds(0, 1, 2, plan=True), sweep=sweep) == (0, [])

        shown = capsys.readouterr()
        title, cells, *_ = shown.out.splitlines()
        assert title == "Accuracy by seed (Figure 7)"
        assert cells == "3 cells: 1 finished, 2 waiting; 4 trials to train."
        assert shown.err == ""
        assert len(load()) == 2


class TestFailures:
    def test_failed_cells_are_named_at_the_end_and_the_others_shown(self, capsys: pytest.CaptureFixture[str]) -> None:
        def fail_some(cell: Cell) -> None:
            if cell.config.seed == 0:
                diverge(cell)
            if cell.config.seed == 1:
                raise UsageError("dataset 1510 cannot be had.")
            finish(cell)

        status, launched = ran(seeds(0, 1, 2), fail_some)

        assert (status, len(launched)) == (1, 3)
        shown = capsys.readouterr()
        lines = [line.split() for line in shown.out.splitlines()]
        assert ["0", "0", "not", "finished"] in lines
        assert ["2", "2", "0.5050"] in [line[:3] for line in lines]
        assert f"seed=0 failed on {socket.gethostname()}:\nTraceback (most recent call last):\n" in shown.err
        assert shown.err.count("\nFloatingPointError: training diverged\n") == 1
        assert shown.err.count("\nseed=1: dataset 1510 cannot be had.\n") == 1
        assert "seed=2" not in shown.err

    def test_cells_that_fail_alike_are_named_once(self, capsys: pytest.CaptureFixture[str]) -> None:
        def fail(_: Cell) -> None:
            raise UsageError("dataset 1510 cannot be had.")

        assert ran(seeds(0, 1, 2), fail)[0] == 1
        assert capsys.readouterr().err.count("dataset 1510 cannot be had.") == 1

    def test_a_failed_cell_runs_once_more_next_time_and_its_earlier_failure_is_told_once(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert ran(seeds(0), diverge) == (1, [[("seed=0",)]])
        assert "training diverged" in capsys.readouterr().err
        assert read_failure(RESULTS, seeds(0)[0].key) is not None

        assert ran(seeds(0), lambda _: None) == (1, [[("seed=0",)]] * 3), "a cell that no job trains is given up"
        assert capsys.readouterr().err == "seed=0 did not finish.\n"

        assert ran(seeds(0)) == (0, [[("seed=0",)]])
        assert ran(seeds(0)) == (0, []), "it counts no more when the cell is finished"

    @pytest.mark.parametrize(
        ("job", "said"),
        [
            (JobReturn(status=JobStatus.UNKNOWN), "RuntimeError: a job did not finish"),
            (JobReturn(status=JobStatus.FAILED, _return_value=KeyError("x")), "KeyError: 'x'"),
        ],
    )
    def test_a_job_that_a_launcher_lost_or_that_failed_is_named(
        self, job: JobReturn, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        launches = []
        launching(monkeypatch, lambda jobs: launches.append(jobs) or [job])  # type: ignore[func-returns-value]

        assert ran(seeds(0))[0] == 1

        assert len(launches) == 1
        assert capsys.readouterr().err.endswith(f"seed=0 did not finish.\n{ENDED}{said}\n")

    def test_a_launcher_that_raises_is_said_and_what_was_finished_stays(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def die(_: object) -> list[JobReturn]:
            finish(seeds(0)[0])
            raise ConnectionError("the scheduler does not answer")

        launching(monkeypatch, die)

        assert ran(seeds(0, 1))[0] == 1

        shown = capsys.readouterr()
        left, early = shown.err.splitlines()
        assert left == "seed=1 did not finish."
        assert "the scheduler does not answer" in early
        assert shown.out.startswith("2 cells of ")
        assert not Path("results/chunks").exists()


@contextmanager
def elsewhere(
    cell: Cell, monkeypatch: pytest.MonkeyPatch, act: Any, *, trials: list[int], begins: bool = True
) -> Iterator[tuple[CellStore, ExitStack]]:
    """Another process has a cell's claim, or takes it later; while it is waited for it acts, and lets go."""
    store = finish(cell, trials=trials)
    with ExitStack() as other:
        if begins:
            other.enter_context(store.claim())

        def wait(_: float) -> None:
            act()
            other.close()

        monkeypatch.setattr(time, "sleep", wait)
        yield store, other


class TestOtherProcesses:
    def test_a_cell_that_another_trains_is_waited_for(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cells = seeds(0, 1)
        with elsewhere(cells[0], monkeypatch, lambda: finish(cells[0], device="elsewhere"), trials=[]):
            assert ran(cells) == (0, [[("seed=1",)]])

        frame = load()
        assert Counter(zip(frame["seed"], frame["device"], strict=True)) == {(0, "elsewhere"): 2, (1, "cpu"): 2}
        shown = capsys.readouterr()
        assert shown.out.startswith("2 cells of ")
        assert "not finished" not in shown.out

    @pytest.mark.parametrize("is_lost", [False, True], ids=["before the job", "during the job"])
    def test_a_cell_that_another_takes_meanwhile_is_waited_for_and_has_not_failed(
        self, is_lost: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (cell,) = seeds(0)
        with elsewhere(cell, monkeypatch, lambda: finish(cell), trials=[], begins=False) as (store, other):

            def lose(_: Cell) -> None:
                other.enter_context(store.claim())
                if is_lost:
                    raise LostClaimError("taken over")

            assert ran([cell], lose) == (0, [[("seed=0",)]])

        assert read_failure(cell.results, cell.key) is None
