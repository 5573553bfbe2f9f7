import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hydra.core.utils import JobReturn, JobStatus

from scarf_lightning.config import Config
from scarf_lightning.data.sources import open_source
from scarf_lightning.errors import UsageError
from scarf_lightning.results import CellStore, identity, load, remember_hash
from scarf_lightning.sweeping.expand import Cell
from scarf_lightning.sweeping.run import run
from tests.cells import DATA_HASH, some_config, some_record

Train = Callable[[Config], None]


class FakeLauncher:
    """Runs no job but this function; what it raises is what the job raised."""

    def __init__(self, cells: Sequence[Cell], train: Train) -> None:
        self._configs = {cell.overrides: cell.config for cell in cells}
        self._train = train
        self.launched: list[list[str]] = []

    def launch(self, job_overrides: Sequence[list[str]], initial_job_idx: int) -> list[JobReturn]:
        assert initial_job_idx == 0
        self.launched += job_overrides
        return [self._job(overrides) for overrides in job_overrides]

    def _job(self, overrides: list[str]) -> JobReturn:
        job = JobReturn(overrides=overrides)
        try:
            self._train(self._configs[tuple(overrides)])
        except Exception as error:
            job.status, job.return_value = JobStatus.FAILED, error
        else:
            job.status, job.return_value = JobStatus.COMPLETED, None
        return job


@pytest.fixture
def train(tmp_path: Path) -> Train:
    """Leaves in the store what a job would leave, and trains only what is missing."""

    def leave(config: Config) -> None:
        results, dataset = Path(config.paths.results), config.dataset
        remember_hash(results, open_source(dataset.source, id=dataset.id, name=None, openml_cache=None), DATA_HASH)
        cell = CellStore(results, identity(config, DATA_HASH))
        cell.describe(dataset="wdbc", dataset_id=1510, source="somewhere", config="")
        cell.add(some_record(cell.missing(range(config.trials)), pretrained=config.pretrain.name != "none"))

    return leave


@pytest.fixture
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def cell(*overrides: str, **chosen: Any) -> Cell:
    return Cell(overrides, some_config(**{"trials": 2} | chosen))


@pytest.mark.usefixtures("in_tmp")
class TestRun:
    def test_a_cell_is_launched_with_its_overrides(self, train: Train, capsys: pytest.CaptureFixture[str]) -> None:
        cells = [cell("seed=0")]
        launcher = FakeLauncher(cells, train)

        assert run(cells, launcher) == 0

        assert launcher.launched == [["seed=0"]]
        assert capsys.readouterr() == (f"Results are in {Path('results').absolute()}\n", "")

    def test_equal_cells_are_launched_once(self, train: Train, capsys: pytest.CaptureFixture[str]) -> None:
        mean = {"name": "mean", "rate": 0.6}
        cells = [
            cell("pretrain=none", "corruption=marginal", pretrain="none"),
            cell("pretrain=none", "corruption=mean", pretrain="none", corruption=mean),
            cell("pretrain=scarf", "corruption=marginal"),
            cell("pretrain=scarf", "corruption=mean", corruption=mean),
        ]
        launcher = FakeLauncher(cells, train)

        assert run(cells, launcher) == 0

        assert launcher.launched == [list(cells[n].overrides) for n in (0, 2, 3)]
        assert capsys.readouterr().out.startswith("3 cells of dataset=wdbc, regime=semi25, ")
        assert load()["fingerprint"].nunique() == 3

    def test_a_finished_cell_is_not_launched_and_shown_again(
        self, train: Train, capsys: pytest.CaptureFixture[str]
    ) -> None:
        cells = [cell("seed=0")]
        train(cells[0].config)
        launcher = FakeLauncher(cells, train)

        assert run(cells, launcher) == 0

        assert launcher.launched == []
        shown = capsys.readouterr()
        assert "(finished already)" in shown.out
        assert "0.5050" in shown.out
        assert shown.err == ""

    def test_what_is_finished_is_said_and_the_rest_is_launched(
        self, train: Train, capsys: pytest.CaptureFixture[str]
    ) -> None:
        cells = [cell(f"seed={seed}", seed=seed) for seed in range(3)]
        train(cells[1].config)
        launcher = FakeLauncher(cells, train)

        assert run(cells, launcher) == 0

        assert launcher.launched == [["seed=0"], ["seed=2"]]
        assert "1 of 3 cells were finished already." in capsys.readouterr().out

    def test_a_cell_that_lacks_trials_is_not_finished(self, train: Train) -> None:
        train(cell(trials=2).config)
        cells = [cell("trials=3", trials=3)]
        launcher = FakeLauncher(cells, train)

        assert run(cells, launcher) == 0

        assert launcher.launched == [["trials=3"]]
        assert load()["trial"].tolist() == [0, 1, 2]

    def test_a_cell_is_not_finished_when_its_data_have_changed(
        self, train: Train, monkeypatch: pytest.MonkeyPatch, in_tmp: Path
    ) -> None:
        data = in_tmp / "data.csv"
        data.write_text("before")
        monkeypatch.setattr("scarf_lightning.data.sources.wdbc.WdbcSource.files", lambda self: (data,))
        cells = [cell("seed=0")]
        run(cells, FakeLauncher(cells, train))
        finished = FakeLauncher(cells, train)
        run(cells, finished)

        os.utime(data, ns=(0, 0))
        changed = FakeLauncher(cells, train)
        run(cells, changed)

        assert finished.launched == []
        assert changed.launched == [["seed=0"]]

    def test_failed_cells_are_named_at_the_end_and_the_others_shown(
        self, train: Train, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def fail_some(config: Config) -> None:
            if config.seed == 0:
                raise FloatingPointError("training diverged")
            if config.seed == 1:
                raise UsageError("dataset 1510 cannot be had.")
            train(config)

        cells = [cell(f"seed={seed}", seed=seed) for seed in range(3)]
        launcher = FakeLauncher(cells, fail_some)

        assert run(cells, launcher) == 1

        assert len(launcher.launched) == 3
        shown = capsys.readouterr()
        lines = [line.split() for line in shown.out.splitlines()]
        assert ["0", "0", "not", "finished"] in lines
        assert ["2", "2", "0.5050"] in [line[:3] for line in lines]
        assert "seed=0 failed:\nTraceback (most recent call last):\n" in shown.err
        assert "\nFloatingPointError: training diverged\n" in shown.err
        assert "\nseed=1: dataset 1510 cannot be had.\n" in shown.err
        assert "seed=2" not in shown.err

    def test_bad_input_that_a_job_meets_is_said_once_and_in_its_own_words(
        self, train: Train, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def refuse(config: Config) -> None:
            raise UsageError("dataset 1510 cannot be had.")

        cells = [cell("seed=0")]

        assert run(cells, FakeLauncher(cells, refuse)) == 1

        assert capsys.readouterr().err == "seed=0: dataset 1510 cannot be had.\n"

    def test_a_job_that_a_launcher_lost_is_named(
        self, train: Train, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cells = [cell("seed=0")]
        launcher = FakeLauncher(cells, train)
        lost = JobReturn(overrides=["seed=0"], status=JobStatus.UNKNOWN)
        monkeypatch.setattr(launcher, "launch", lambda jobs, initial_job_idx: [lost])

        assert run(cells, launcher) == 1

        assert capsys.readouterr().err == "seed=0 did not finish.\n"

    def test_wrong_parts_of_all_cells_are_listed_before_anything_is_launched(self, train: Train) -> None:
        cells = [
            cell("good"),
            cell("corruption.name=os.system", corruption={"name": "os.system"}),
            cell("regime.labelled=2", regime={"name": "semi25", "labelled": 2.0}),
            cell("corruption.name=os.system", "seed=3", corruption={"name": "os.system"}, seed=3),
        ]
        launcher = FakeLauncher(cells, train)

        with pytest.raises(UsageError) as caught:
            run(cells, launcher)

        first, second = str(caught.value).split("\n")
        assert first.startswith("corruption.name=os.system is unknown; the options are: ")
        assert second == "regime.labelled must lie in (0, 1], not 2.0."
        assert launcher.launched == []
        assert not Path("results").exists()

    def test_results_go_where_they_are_asked_to_go(self, train: Train, capsys: pytest.CaptureFixture[str]) -> None:
        base = cell("paths.results=elsewhere")
        base.config.paths.results = "elsewhere"

        assert run([base], FakeLauncher([base], train)) == 0

        assert not Path("results").exists()
        assert len(load("elsewhere")) == 2
        assert capsys.readouterr().out == f"Results are in {Path('elsewhere').absolute()}\n"

    def test_the_largest_number_of_trials_is_trained(self, train: Train) -> None:
        cells = [cell("trials=1", trials=1), cell("trials=2", trials=2)]
        run(cells, FakeLauncher(cells, train))
        assert load()["trial"].tolist() == [0, 1]

    def test_two_results_folders_are_two_cells(self, train: Train) -> None:
        cells = [cell("paths.results=a"), cell("paths.results=b")]
        for each in cells:
            each.config.paths.results = each.overrides[0][-1]
        run(cells, FakeLauncher(cells, train))
        assert (len(load("a")), len(load("b"))) == (2, 2)
