import os
import re
import socket
import sys
import time
from collections import Counter
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hydra.core.utils import JobReturn, JobStatus

from scarf_lightning.cli.show import Terminal
from scarf_lightning.errors import UnfinishedError, UsageError
from scarf_lightning.options.settings import DatasetSettings, PathSettings
from scarf_lightning.results import (
    KnownData,
    LostClaimError,
    PretrainingStore,
    load,
    note_data,
    pretraining_identity,
    read_failure,
)
from scarf_lightning.sweeping.cell import Cell
from scarf_lightning.sweeping.chunks import by
from scarf_lightning.sweeping.expand import ExpandedSweep
from scarf_lightning.sweeping.folders import SweepFile
from scarf_lightning.sweeping.run import run
from tests.cells import DATA_HASH, WDBC, finish, some_cell, some_pretrained
from tests.launching import FakeLauncher, Train
from tests.results.test_claims import claimed_by, ended_process

DIVERGED = FloatingPointError("training diverged")


@pytest.fixture(autouse=True)
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Shown(Terminal):
    """Says what was found, and not what goes on meanwhile."""

    def doing(self, what: str) -> AbstractContextManager[object]:
        return nullcontext()


def ran(cells: list[Cell], train: Train = finish, **request: Any) -> tuple[int, list[list[tuple[str, ...]]]]:
    """The exit status, and what was launched, a job a group of cells that share something."""
    launcher = FakeLauncher(train)
    try:
        run(ExpandedSweep(cells, **request), by(launcher), Shown(), "joblib")  # type: ignore[arg-type]
    except UnfinishedError as error:
        print(error, file=sys.stderr)
        return error.status, launcher.launched
    return 0, launcher.launched


def seeds(*numbers: int, **chosen: Any) -> list[Cell]:
    """Cells that share nothing."""
    return [some_cell(f"seed={number}", seed=number, **chosen) for number in numbers]


class TestLaunching:
    def test_a_cell_is_launched_and_its_table_shown(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert ran(seeds(0)) == (0, [[("seed=0",)]])

        shown = capsys.readouterr()
        heading, *table, end = shown.out.splitlines()
        assert re.fullmatch(r"dataset=wdbc, split=random, regime=semi25, .* \([0-9a-f]{16}\)", heading)
        assert ["accuracy", "0.5050"] in [line.split()[:2] for line in table]
        assert end == f"Results are in {Path('results').absolute()}"
        assert shown.err == ""

    def test_a_cell_knows_whether_it_is_alone(self) -> None:
        alone: list[tuple[str, bool]] = []

        def note(cell: Cell) -> None:
            alone.append((cell.label, cell.is_alone))
            finish(cell)

        ran(seeds(0), note)
        ran(seeds(1, 2), note)

        assert sorted(alone) == [("seed=0", True), ("seed=1", False), ("seed=2", False)]

    def test_equal_cells_are_launched_once(self, capsys: pytest.CaptureFixture[str]) -> None:
        mean = {"name": "mean", "rate": 0.6}
        cells = [
            some_cell("pretrain=none", "corruption=marginal", pretrain="none"),
            some_cell("pretrain=none", "corruption=mean", pretrain="none", corruption=mean),
            some_cell("pretrain=scarf", "corruption=marginal"),
            some_cell("pretrain=scarf", "corruption=mean", corruption=mean),
        ]

        status, launched = ran(cells)

        assert status == 0
        assert sorted(each for job in launched for each in job) == sorted(cells[n].overrides for n in (0, 2, 3))
        assert capsys.readouterr().out.startswith("3 cells of dataset=wdbc, split=random, regime=semi25, ")
        assert load()["fingerprint"].nunique() == 3

    def test_cells_that_share_a_pretraining_are_one_job(self) -> None:
        cells = [some_cell(f"method={name}", method={"name": name}) for name in ("control", "dropout")]

        assert ran([*cells, *seeds(1)]) == (0, [[cell.overrides for cell in cells], [("seed=1",)]])

    @pytest.mark.parametrize(("in_order", "first"), [(False, "scarf"), (True, "none")])
    def test_the_longest_cell_is_launched_first_or_the_first_that_was_asked_for(
        self, in_order: bool, first: str
    ) -> None:
        launcher = FakeLauncher(finish)
        cells = [some_cell(f"pretrain={name}", pretrain=name) for name in ("none", "scarf")]

        run(ExpandedSweep(cells), by(launcher), Shown(), "unknown", in_order=in_order)

        assert len(launcher.launched) == 2
        assert launcher.launched[0] == [(f"pretrain={first}",)]

    def test_a_job_is_called_by_what_its_cells_share(self) -> None:
        launcher = FakeLauncher(finish)
        cells = [replace(cell, overrides=("pretrain=scarf", *cell.overrides)) for cell in seeds(0, 1, pretrain="scarf")]

        run(ExpandedSweep(cells), by(launcher), Terminal(), "basic")

        assert launcher.asked == [["pretrain=scarf"]]

    def test_nothing_of_a_launch_is_left_behind(self) -> None:
        ran(seeds(0, 1))

        left = sorted(path.name for path in Path("results").iterdir() if len(path.name) != 16)
        assert left == ["datasets", "index", "tables"]

    def test_the_largest_number_of_trials_is_trained(self) -> None:
        ran([some_cell("trials=1", trials=1), some_cell("trials=2", trials=2)])

        assert load()["trial"].tolist() == [0, 1]

    def test_results_go_where_they_are_asked_to_go(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert ran([some_cell("paths.results=elsewhere", paths=PathSettings("elsewhere"))])[0] == 0

        assert not Path("results").exists()
        assert len(load("elsewhere")) == 2
        assert capsys.readouterr().out.endswith(f"Results are in {Path('elsewhere').absolute()}\n")

    def test_two_results_folders_are_two_cells(self) -> None:
        ran([some_cell(f"paths.results={name}", paths=PathSettings(name)) for name in "ab"])

        assert (len(load("a")), len(load("b"))) == (2, 2)

    @pytest.mark.parametrize("name", ["it's", "a,b", "a b", "$(x)", "{y}", "back\\slash", "ü"])
    def test_a_results_folder_may_have_any_name(self, name: str) -> None:
        assert ran([some_cell("seed=0", paths=PathSettings(name))]) == (0, [[("seed=0",)]])

        assert len(load(name)) == 2

    def test_wrong_parts_of_all_cells_are_listed_before_anything_is_launched(self) -> None:
        shares = (0.5, 2.0, 2.0, -1.0)
        cells = [
            some_cell(f"seed={seed}", seed=seed, regime={"name": "semi25", "labelled": share})
            for seed, share in enumerate(shares)
        ]
        launcher = FakeLauncher(finish)

        with pytest.raises(UsageError) as caught:
            run(ExpandedSweep(cells), by(launcher), Terminal())  # type: ignore[arg-type]

        assert str(caught.value).split("\n") == [
            f"regime.labelled must lie in (0, 1], not {share}." for share in (2.0, -1.0)
        ]
        assert launcher.launched == []
        assert not Path("results").exists()

    def test_what_was_left_out_of_a_sweep_is_said(self, capsys: pytest.CaptureFixture[str]) -> None:
        ran(seeds(0), left_out=("method=a does not go with regime=b.",))

        assert capsys.readouterr().err == "Left out: method=a does not go with regime=b.\n"

    @pytest.mark.parametrize(
        ("results", "why"),
        [("taken", "cannot be used"), pytest.param("/proc/nothing", "cannot be written to", id="not writable")],
    )
    def test_a_results_folder_that_cannot_be_one_is_refused_before_anything_is_launched(
        self, results: str, why: str
    ) -> None:
        Path("taken").touch()
        launcher, cells = FakeLauncher(finish), seeds(1, paths=PathSettings(results=results))

        with pytest.raises(UsageError, match=rf"paths\.results={results} {why}"):
            run(ExpandedSweep(cells), by(launcher), Shown(), "joblib")  # type: ignore[arg-type]

        assert launcher.launched == []


class TestSkipping:
    def test_a_finished_cell_is_not_launched_and_shown_again(self, capsys: pytest.CaptureFixture[str]) -> None:
        finish(seeds(0)[0])

        assert ran(seeds(0)) == (0, [])

        shown = capsys.readouterr()
        assert "(finished already)" in shown.out
        assert "0.5050" in shown.out
        assert shown.err == ""

    def test_what_is_finished_is_said_and_the_rest_is_launched(self, capsys: pytest.CaptureFixture[str]) -> None:
        finish(seeds(1)[0])

        assert ran(seeds(0, 1, 2)) == (0, [[("seed=0",)], [("seed=2",)]])

        assert "1 of 3 cells were finished already." in capsys.readouterr().out

    def test_a_cell_that_lacks_trials_is_not_finished(self) -> None:
        finish(some_cell(trials=2))

        assert ran([some_cell("trials=3", trials=3)]) == (0, [[("trials=3",)]])

        assert load()["trial"].tolist() == [0, 1, 2]

    def test_a_cell_is_not_finished_when_its_data_have_changed(
        self, monkeypatch: pytest.MonkeyPatch, in_tmp: Path
    ) -> None:
        data = in_tmp / "data.csv"
        data.write_text("before")
        monkeypatch.setattr("scarf_lightning.data.sources.source.WdbcSource.files", lambda self: (data,))
        ran(seeds(0))

        again = ran(seeds(0))
        os.utime(data, ns=(0, 0))
        changed = ran(seeds(0))

        assert again == (0, [])
        assert changed == (0, [[("seed=0",)]])

    def test_a_damaged_record_is_not_finished(self) -> None:
        store = finish(seeds(0)[0])
        next(store.folder.glob("stacks/*/curves.parquet")).write_bytes(b"")

        def mend(cell: Cell) -> None:
            assert len(store.mend()) == 1
            finish(cell)

        assert ran(seeds(0), mend) == (0, [[("seed=0",)]])

    def test_no_torch_is_needed_to_skip(self, monkeypatch: pytest.MonkeyPatch) -> None:
        finish(seeds(0)[0])
        monkeypatch.setattr("scarf_lightning.options.build_parts", None)

        assert ran(seeds(0)) == (0, [])


class TestForce:
    def test_finished_cells_run_again_and_what_they_had_is_set_aside(self, capsys: pytest.CaptureFixture[str]) -> None:
        first = finish(seeds(0)[0], device="first")
        pretraining = PretrainingStore(Path("results"), pretraining_identity(seeds(0)[0].config, DATA_HASH), 1.0)
        pretraining.add([some_pretrained(0)])
        (stack,) = (first.folder / "stacks").iterdir()

        status, launched = ran(seeds(0, 1, force=True), lambda cell: finish(cell, device="again"))

        assert (status, sorted(launched)) == (0, [[("seed=0",)], [("seed=1",)]])
        assert set(load()["device"]) == {"again"}
        assert len(list(Path("results/set_aside").glob(f"*/{first.fingerprint}/stacks/{stack.name}"))) == 1
        assert len(list(Path("results/set_aside").glob(f"*/pretrained/{pretraining.fingerprint}/trials/0000"))) == 1
        assert pretraining.missing([0]) == [0]
        sentence, *_ = capsys.readouterr().err.splitlines()
        assert sentence.startswith(f"{first.fingerprint}/stacks/{stack.name} is set aside in results/set_aside/")
        assert sentence.endswith(": force=true trains it again.")

    def test_a_shared_pretraining_is_set_aside_once_and_a_cell_without_one_too(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        shared = [some_cell(f"method={name}", method={"name": name}) for name in ("control", "probe")]
        cells = [*shared, some_cell("pretrain=none", pretrain="none")]
        for cell in cells:
            finish(cell)
        (kept,) = {each.pretraining().folder for each in shared}  # type: ignore[union-attr]
        PretrainingStore(Path("results"), pretraining_identity(shared[0].config, DATA_HASH), 1.0).add(
            [some_pretrained(0)]
        )
        capsys.readouterr()

        forced = [replace(cell, config=replace(cell.config, force=True)) for cell in cells]
        status, launched = ran(forced)

        assert (status, sum(map(len, launched))) == (0, 3)
        assert len(list(Path("results/set_aside").glob(f"*/pretrained/{kept.name}"))) == 1
        aside = [line for line in capsys.readouterr().err.splitlines() if "is set aside" in line]
        assert len(aside) == 3

    def test_what_another_process_trains_is_left_alone(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (cell,) = seeds(0, force=True)
        store = finish(cell, trials=[0])
        with ExitStack() as other:
            other.enter_context(store.claim())

            def wait(_: float) -> None:
                finish(cell)
                other.close()

            monkeypatch.setattr(time, "sleep", wait)
            assert ran([cell]) == (0, [])

        assert capsys.readouterr().err == "seed=0 is being trained by another process and is left alone.\n"
        assert not Path("results/set_aside").exists()


class TestPlan:
    def test_it_trains_nothing_and_says_what_there_is_to_do(self, capsys: pytest.CaptureFixture[str]) -> None:
        finish(seeds(1)[0])
        sweep = SweepFile("some", "Accuracy by seed", [{}], paper="Figure 7")

        assert ran(seeds(0, 1, 2, plan=True), sweep=sweep) == (0, [])

        shown = capsys.readouterr()
        title, cells, *_ = shown.out.splitlines()
        assert title == "Accuracy by seed (Figure 7)"
        assert cells == "3 cells: 1 finished, 2 waiting; 4 trials to train."
        assert shown.err == ""
        assert len(load()) == 2

    def test_it_leaves_no_file(self) -> None:
        assert ran(seeds(0, plan=True)) == (0, [])

        assert list(Path().iterdir()) == []

    def test_it_names_what_failed_when_last_tried(self, capsys: pytest.CaptureFixture[str]) -> None:
        def fail(_: Cell) -> None:
            raise DIVERGED

        ran(seeds(0), fail)
        capsys.readouterr()
        ran(seeds(0, plan=True))

        shown = capsys.readouterr().out.splitlines()
        assert shown[0] == "1 cell: 1 failed; 2 trials to train."
        assert f"Failed when last tried: seed=0 failed on {socket.gethostname()}:" in shown

    def test_datasets_are_listed_with_their_sizes_the_longest_first(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        phoneme, adult, unknown = (
            some_cell(f"dataset=cc18-{name}", dataset=DatasetSettings("openml", number, name), plan=True)
            for number, name in ((1489, "phoneme"), (1590, "adult"), (61, "iris"))
        )
        monkeypatch.setattr(type(phoneme.source), "files", lambda self: (Path(__file__),))
        for cell, size in ((phoneme, (5404, 5)), (adult, (48_842, 14))):
            finish(cell, trials=[0], data=KnownData(DATA_HASH, *size))

        ran([phoneme, adult, unknown])

        lines = [line.split()[:3] for line in capsys.readouterr().out.splitlines()]
        assert lines[-3:] == [["adult", "48,842", "14"], ["phoneme", "5,404", "5"], ["iris", "?", "?"]]


class TestFailures:
    def test_failed_cells_are_named_at_the_end_and_the_others_shown(self, capsys: pytest.CaptureFixture[str]) -> None:
        def fail_some(cell: Cell) -> None:
            if cell.config.seed == 0:
                raise DIVERGED
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
        assert "\nFloatingPointError: training diverged\n" in shown.err
        assert "\nseed=1: dataset 1510 cannot be had.\n" in shown.err
        assert "seed=2" not in shown.err

    def test_a_cell_that_fails_stops_no_other_of_its_job(self) -> None:
        cells = [some_cell(f"method={name}", method={"name": name}) for name in ("control", "dropout", "mixup")]

        def fail_some(cell: Cell) -> None:
            if cell.config.method["name"] == "control":
                raise DIVERGED
            finish(cell)

        assert ran(cells, fail_some) == (1, [[cell.overrides for cell in cells]])
        assert load()["method"].value_counts().to_dict() == {"dropout": 2, "mixup": 2}

    def test_bad_input_that_a_job_meets_is_said_once_and_in_its_own_words(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def refuse(_: Cell) -> None:
            raise UsageError("dataset 1510 cannot be had.")

        assert ran(seeds(0), refuse)[0] == 1

        assert capsys.readouterr().err == "seed=0: dataset 1510 cannot be had.\n"

    def test_a_failed_cell_runs_once_more_next_time(self) -> None:
        tried = count(1)

        def fail_first(cell: Cell) -> None:
            if next(tried) == 1:
                raise DIVERGED
            finish(cell)

        assert ran(seeds(0), fail_first) == (1, [[("seed=0",)]])
        assert read_failure(Path("results"), seeds(0)[0].key) is not None
        assert ran(seeds(0), fail_first) == (0, [[("seed=0",)]])

    def test_an_earlier_failure_is_not_told_again_of_a_cell_that_nobody_tried(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def fail(_: Cell) -> None:
            raise DIVERGED

        ran(seeds(0), fail)
        assert str(DIVERGED) in capsys.readouterr().err

        assert ran(seeds(0), lambda _: None)[0] == 1
        said = capsys.readouterr().err
        assert "seed=0 did not finish." in said
        assert str(DIVERGED) not in said

    def test_a_failure_of_a_cell_that_is_finished_by_now_does_not_count(self) -> None:
        def fail(_: Cell) -> None:
            raise DIVERGED

        ran(seeds(0), fail)
        finish(seeds(0)[0])

        assert ran(seeds(0)) == (0, [])

    def test_a_job_that_a_launcher_lost_is_named(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        launches = []

        def lose(_: FakeLauncher, jobs: list[list[str]], initial_job_idx: int) -> list[JobReturn]:
            launches.append(jobs)
            return [JobReturn(overrides=jobs[0], status=JobStatus.UNKNOWN)]

        monkeypatch.setattr(FakeLauncher, "launch", lose)

        assert ran(seeds(0))[0] == 1

        assert len(launches) == 1
        said = "A job ended early; the same command goes on where it did. RuntimeError: a job did not finish"
        assert capsys.readouterr().err == f"seed=0 did not finish.\n{said}\n"

    @pytest.mark.parametrize("finished", [[], [0], [0, 1]], ids=len)
    def test_a_launcher_that_raises_is_said_and_what_was_finished_stays(
        self, finished: list[int], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def die(*_: object, **__: object) -> list[JobReturn]:
            for number in finished:
                finish(seeds(number)[0])
            raise ConnectionError("the scheduler does not answer")

        monkeypatch.setattr(FakeLauncher, "launch", die)

        assert ran(seeds(0, 1))[0] == 1

        shown = capsys.readouterr()
        left = [f"seed={number} did not finish." for number in (0, 1) if number not in finished]
        said = (
            "A job ended early; the same command goes on where it did. ConnectionError: the scheduler does not answer"
        )
        assert shown.err.splitlines() == [*left, said]
        assert shown.out.startswith("2 cells of ")
        assert not Path("results/chunks").exists()

    @pytest.mark.parametrize("trials", [[0, 1], [0]], ids=["found finished", "finished here"])
    def test_one_that_a_process_killed_after_its_last_record_left_on_a_finished_cell_goes(
        self, trials: list[int]
    ) -> None:
        store = finish(seeds(0)[0], trials=trials)
        claimed_by(store.folder, ended_process())

        assert ran(seeds(0))[0] == 0

        assert store.missing(range(2)) == []
        assert not (store.folder / "claim").exists()

    def test_claims_of_jobs_that_an_interrupt_killed_are_given_back(self, monkeypatch: pytest.MonkeyPatch) -> None:
        cell = seeds(0)[0]
        finish(cell, trials=[])
        folders = [store.folder for store in (cell.store(), cell.pretraining()) if store is not None]

        def interrupt(*_: object, **__: object) -> list[JobReturn]:
            token = ended_process()
            for folder in folders:
                claimed_by(folder, token)
            raise KeyboardInterrupt

        monkeypatch.setattr(FakeLauncher, "launch", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ran([cell])

        assert len(folders) == 2
        assert [folder for folder in folders if (folder / "claim").exists()] == []

    def test_a_jobs_own_error_is_said(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        failed = JobReturn(status=JobStatus.FAILED, _return_value=MemoryError("no more"))
        monkeypatch.setattr(FakeLauncher, "launch", lambda *_, **__: [failed])

        assert ran(seeds(0))[0] == 1

        assert capsys.readouterr().err.splitlines()[-1].endswith("goes on where it did. MemoryError: no more")

    def test_a_cell_that_nobody_trains_though_its_job_ends_well_is_given_up(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        status, launched = ran(seeds(0), lambda cell: None)

        assert (status, launched) == (1, [[("seed=0",)]] * 3)
        assert capsys.readouterr().err == "seed=0 did not finish.\n"


class TestOtherProcesses:
    """Another process has a cell's claim; `sleep` is when it does something."""

    def test_a_cell_that_another_trains_is_waited_for(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cells = seeds(0, 1)
        note_data(cells[0].results, cells[0].source, WDBC, cells[0].source.stamps())
        store = cells[0].store()
        assert store is not None
        with ExitStack() as other:
            other.enter_context(store.claim())

            def wait(_: float) -> None:
                finish(cells[0], device="elsewhere")
                other.close()

            monkeypatch.setattr(time, "sleep", wait)
            assert ran(cells) == (0, [[("seed=1",)]])

        frame = load()
        assert Counter(zip(frame["seed"], frame["device"], strict=True)) == {(0, "elsewhere"): 2, (1, "cpu"): 2}
        shown = capsys.readouterr()
        assert shown.out.startswith("2 cells of ")
        assert "not finished" not in shown.out

    def test_a_cell_that_another_lets_go_of_is_trained_here(self, monkeypatch: pytest.MonkeyPatch) -> None:
        (cell,) = seeds(0)
        store = finish(cell, trials=[1])
        with ExitStack() as other:
            other.enter_context(store.claim())
            monkeypatch.setattr(time, "sleep", lambda _: other.close())

            assert ran([cell]) == (0, [[("seed=0",)]])

        assert load()["trial"].tolist() == [0, 1]

    def test_a_cell_that_another_takes_between_the_look_and_the_job_is_waited_for(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (cell,) = seeds(0)
        note_data(cell.results, cell.source, WDBC, cell.source.stamps())
        store = cell.store()
        assert store is not None
        with ExitStack() as other:

            def wait(_: float) -> None:
                finish(cell)
                other.close()

            monkeypatch.setattr(time, "sleep", wait)
            status, launched = ran([cell], lambda _: other.enter_context(store.claim()))

        assert (status, launched) == (0, [[("seed=0",)]])

    def test_a_cell_that_another_took_over_has_not_failed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        (cell,) = seeds(0)
        note_data(cell.results, cell.source, WDBC, cell.source.stamps())
        store = cell.store()
        assert store is not None
        with ExitStack() as other:

            def lose(_: Cell) -> None:
                other.enter_context(store.claim())
                raise LostClaimError("taken over")

            def wait(_: float) -> None:
                finish(cell)
                other.close()

            monkeypatch.setattr(time, "sleep", wait)
            status, launched = ran([cell], lose)

        assert (status, launched) == (0, [[("seed=0",)]])
        assert read_failure(cell.results, cell.key) is None


def test_a_sweep_too_long_for_a_line_a_cell_is_shown_a_line_a_setting(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scarf_lightning.cli.show.LONGEST_TABLE", 1)

    assert ran([some_cell("pretrain=scarf"), some_cell("pretrain=none", pretrain="none")])[0] == 0

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["pretrain", "datasets", "finished", "of", "mean", "accuracy"] in lines
    assert ["none", "1", "1", "0.5050"] in lines
