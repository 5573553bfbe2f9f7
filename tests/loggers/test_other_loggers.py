"""Loggers of Lightning's by their class: CSV files, and a class of the user's own."""

import csv
import json
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml
from pytorch_lightning.loggers import Logger

from scarf_lightning import UsageError
from scarf_lightning.loggers import CellView, write_views
from scarf_lightning.loggers.view import mean_curves
from scarf_lightning.options.plugins import check_loggers
from scarf_lightning.options.settings import LoggerSettings
from tests.cells import some_config
from tests.loggers.made_up import view_of

CSV = LoggerSettings(others={"csv": {"_target_": "pytorch_lightning.loggers.CSVLogger"}})
RECORDER = f"{__name__}.Recorder"


class Experiment:
    """An experiment that Lightning leaves open, as W&B's."""

    def __init__(self) -> None:
        self.is_finished = False

    def finish(self) -> None:
        self.is_finished = True


class Recorder(Logger):
    """Keeps what it is told; a name ``broken`` lets it fail at the end."""

    made: ClassVar[list["Recorder"]] = []

    def __init__(self, project: str, name: str | None = None, version: str = "", tries: int = 1) -> None:
        super().__init__()
        self.given = {"project": project, "tries": tries}
        self._name, self._version, self._experiment = name, version, Experiment()
        self.params: dict[str, Any] = {}
        self.metrics: list[tuple[dict[str, float], int | None]] = []
        self.status = ""
        self.made.append(self)

    @property
    def name(self) -> str | None:
        return self._name

    @property
    def version(self) -> str:
        return self._version

    @property
    def experiment(self) -> Experiment:
        return self._experiment

    def log_hyperparams(self, params: dict[str, Any] | Namespace, *_: Any, **__: Any) -> None:
        self.params |= dict(params)  # type: ignore[arg-type]

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        self.metrics.append((dict(metrics), step))

    def finalize(self, status: str) -> None:
        self.status = status
        if self.given["project"] == "broken":
            raise ConnectionError("the service is gone.")


def recording(**options: Any) -> LoggerSettings:
    return LoggerSettings(others={"mine": {"_target_": RECORDER, "project": "ablation"} | options})


def read_csv(results: Path, view: CellView) -> dict[str, dict[int, float]]:
    """The metrics that are written of a cell, by step."""
    values = dict[str, dict[int, float]]()
    with (results / "csv" / "wdbc_defaults" / view.id / "metrics.csv").open() as file:
        for row in csv.DictReader(file):
            step = int(row.pop("step"))
            for name, value in row.items():
                if value:
                    values.setdefault(name, {})[step] = float(value)
    return values


def test_csv_files_hold_the_stores_own_values_and_are_replaced_when_the_cell_grows(results: Path) -> None:
    for trials in ([0], [0, 1]):
        view = view_of(results, trials)
        assert write_views(view, results, CSV) == []
        read = read_csv(results, view)
        for phase, curves in mean_curves(view.curves).items():
            for curve in curves:
                assert read[f"{phase}/{curve}"] == curves[curve].dropna().to_dict()
        assert read["trials/accuracy"] == view.trials.set_index("trial")["accuracy"].to_dict()
        assert {name: read[f"summary/{name}"] for name in view.summary} == {
            name: {0: value} for name, value in view.summary.items()
        }
    assert [path.parent.name for path in (results / "csv").rglob("metrics.csv")] == [view.id]
    written = yaml.safe_load((results / "csv" / "wdbc_defaults" / view.id / "hparams.yaml").read_text())
    assert written == view.config | {"name": view.name, "group": "quick", "failure": None}


def test_a_cell_of_another_name_replaces_its_files_and_leaves_those_of_others(results: Path) -> None:
    view = view_of(results)
    for name, id in (("before", view.id), ("other", "f" * 16), ("after", view.id)):
        assert write_views(replace(view, name=name, id=id), results, CSV) == []
    folders = {path.relative_to(results / "csv").as_posix() for path in (results / "csv").glob("*/*")}
    assert folders == {f"after/{view.id}", f"other/{'f' * 16}"}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize("save_dir", [".", "results", "..", "link"])
def test_a_logger_that_writes_beside_records_removes_none(
    results: Path, save_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = view_of(results)
    monkeypatch.chdir(results.parent)
    Path("link").symlink_to(results.name)
    before = contents(results / view.id)

    section = {"_target_": "pytorch_lightning.loggers.CSVLogger", "save_dir": save_dir}
    for _ in range(2):
        assert write_views(view, results, LoggerSettings(others={"mine": section})) == []

    assert contents(results / view.id) == before
    assert list(Path(save_dir).glob(f"wdbc_defaults/{view.id}/*"))


def test_a_folder_of_the_cells_name_that_holds_other_files_is_left_alone(results: Path) -> None:
    view = view_of(results)
    theirs = results / "csv" / "copy" / view.id
    theirs.mkdir(parents=True)
    for name in ("cell.json", "metrics.csv"):
        (theirs / name).write_text("theirs")
    assert write_views(view, results, CSV) == []
    assert contents(theirs) == {"cell.json": b"theirs", "metrics.csv": b"theirs"}


def test_a_class_of_ones_own_gets_its_options_and_the_cell_through_lightnings_interface(results: Path) -> None:
    view = view_of(results)
    for failure, status in ((None, "success"), ("Traceback: diverged", "failed")):
        assert write_views(replace(view, failure=failure), results, recording(tries=3)) == []
        logger = Recorder.made[-1]
        assert (logger.given, logger.name) == ({"project": "ablation", "tries": 3}, "wdbc_defaults")
        assert (logger.version, logger.status, logger.experiment.is_finished) == (view.id, status, True)
        assert logger.params.get("failure") == failure
        assert view.config.items() <= logger.params.items()
    curves = mean_curves(view.curves)["pretrain"]
    first = {f"pretrain/{name}": value for name, value in curves.loc[1].items()}
    assert logger.metrics[0] == (first, 1)
    assert logger.metrics[-1] == ({f"summary/{name}": value for name, value in view.summary.items()}, 0)


def test_a_logger_that_fails_is_named_is_closed_and_keeps_no_other_from_being_written(results: Path) -> None:
    view = view_of(results)
    settings = LoggerSettings(others=recording(project="broken").others | CSV.others)
    assert write_views(view, results, settings) == [f"wdbc defaults ({view.id}) is not in mine: the service is gone."]
    assert Recorder.made[-1].experiment.is_finished
    assert read_csv(results, view)["summary/trials"] == {0: 2.0}


@pytest.mark.parametrize(
    ("section", "sentence"),
    [
        (
            {"_target_": "nowhere.Mine"},
            r"logger\.mine\._target_=nowhere\.Mine cannot be imported: ModuleNotFoundError: No module named ",
        ),
        ({"save_dir": "a"}, r"logger\.mine\._target_=None cannot be imported: "),
        ({"_target_": "json.JSONDecoder"}, r"logger\.mine\._target_=json\.JSONDecoder is no logger of Lightning's; "),
        ({"_target_": "json.dumps"}, r"logger\.mine\._target_=json\.dumps is no logger of Lightning's; "),
        (
            {"_target_": "pytorch_lightning.loggers.CSVLogger", "save_dr": "a"},
            r"logger\.mine.*save_dr",
        ),
        ({"_target_": RECORDER}, r"logger\.mine.*project"),
        ({"_target_": "pytorch_lightning.loggers.CometLogger"}, r"logger\.mine needs a package: .*comet"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_trains(section: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=f"^{sentence}"):
        check_loggers(LoggerSettings(others={"mine": section}))


def test_the_store_keeps_nothing_that_may_be_a_key() -> None:
    others = recording(api_key="secret").others
    config = some_config(logger=LoggerSettings(others=others))
    recorded = config.recorded()
    assert recorded["logger"]["others"] == {"mine": {"_target_": RECORDER}}
    assert "secret" not in json.dumps(recorded)
    assert config.logger.others == others
