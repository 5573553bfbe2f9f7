"""`scarf results` on a store that no cell was trained for."""

import json
from pathlib import Path

import pandas as pd
import pytest

from scarf_lightning.cli.browsing import JOBS, browse
from scarf_lightning.errors import UsageError
from scarf_lightning.results import load
from tests.report.store import fill_store


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two pre-trainings on two datasets, three trials each."""
    monkeypatch.chdir(tmp_path)
    fill_store(tmp_path / "results", datasets=2, trials=3, pretrains=("none", "scarf"), keeps_predictions=False)
    return tmp_path / "results"


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    browse(["ls", *arguments, "--json"])
    cells: list[dict[str, object]] = json.loads(capsys.readouterr().out)["cells"]
    return cells


def test_ls_has_a_line_for_each_cell_with_its_mean(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    means = load(store).groupby("fingerprint")["accuracy"].mean()

    cells = listed(capsys)
    browse(["ls"])
    shown = capsys.readouterr().out

    assert {cell["cell"]: cell["value"] for cell in cells} == pytest.approx(means.to_dict())
    assert {cell["trials"] for cell in cells} == {3}
    assert len({cell["name"] for cell in cells}) == 4
    for cell in cells:
        line = f"{str(cell['cell'])[:8]}   {cell['name']}"
        assert line in " ".join(shown.split()) or line.replace("   ", " ") in " ".join(shown.split())
        assert f"{means[cell['cell']]:.4f}" in shown


def test_ls_is_narrowed_by_options(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = listed(capsys, "pretrain=scarf")

    assert len(cells) == 2
    assert all("SCARF" in str(cell["name"]) for cell in cells)


def test_the_newest_cells_come_first(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = [cell["written"] for cell in listed(capsys)]

    assert written == sorted(written, key=str, reverse=True)


def test_diff_has_what_differs_and_nothing_else(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dataset = "dataset"
    of_one: dict[object, list[object]] = {}
    for cell in listed(capsys):
        options = cell["options"]
        assert isinstance(options, dict)
        of_one.setdefault(options[dataset], []).append(cell["cell"])
    first, second = map(str, next(iter(of_one.values())))

    browse(["diff", first[:10], second[:10], "--json"])
    differing = json.loads(capsys.readouterr().out)["options"]
    browse(["diff", first, second])
    shown = capsys.readouterr().out

    assert sorted(map(str, differing["pretrain"])) == ["none", "scarf"]
    assert dataset not in differing
    assert all(first != second for first, second in differing.values())
    assert "pretrain.max_epochs" in shown
    assert "regime" not in shown


def test_show_has_the_options_and_the_metrics(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cell = listed(capsys, "pretrain=scarf")[0]

    browse(["show", str(cell["cell"])[:8]])

    shown = capsys.readouterr().out
    assert f"{cell['value']:.4f}" in shown
    assert "pretrain=scarf\n" in shown
    assert "on made up" in shown


def test_dropped_cells_are_read_no_more_and_kept(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    browse(["drop", "pretrain=scarf"])

    said = capsys.readouterr().out.splitlines()
    assert len(said) == 2
    assert {str(cell["options"]["pretrain"]) for cell in listed(capsys)} == {"none"}  # type: ignore[index]
    # A cell that was dropped can be put back by hand.
    assert len(list((store / "set_aside").rglob("cell.json"))) == 2
    assert len(list((store / "set_aside").rglob("trials.json"))) == 2


def test_drop_without_a_name_drops_nothing(store: Path) -> None:
    with pytest.raises(UsageError, match="Name what to drop"):
        browse(["drop"])


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".json"])
def test_export_writes_a_row_for_each_trial(store: Path, ending: str) -> None:
    read = {".csv": pd.read_csv, ".parquet": pd.read_parquet, ".json": pd.read_json}[ending]

    browse(["export", f"trials{ending}", "pretrain=scarf"])

    frame = read(f"trials{ending}")
    trials = load(store)
    expected = trials.loc[trials["pretrain"] == "scarf", "accuracy"]
    assert sorted(frame["accuracy"]) == pytest.approx(sorted(expected))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["lst"], "scarf results has no command lst; it has: .* Did you mean ls?"),
        (["show"], "It is scarf results show CELL"),
        (["show", "zz"], "There is no cell zz; scarf results ls lists the cells."),
        (["diff", "0", "1", "2"], "It is scarf results diff CELL CELL"),
        (["ls", "what"], "what: scarf results ls takes options such as pretrain=scarf."),
        (["ls", "--all"], "--all is not known; scarf results --help names what is."),
        (["ls", "pretrain=vime"], "No cell has pretrain=vime; pretrain has: none, scarf."),
        (["export"], "Name one file to write: scarf results export trials.csv."),
        (["export", "trials.xls"], "trials.xls has no known ending; the endings are: .csv, .parquet, .json."),
        (["ls", "results=elsewhere"], "elsewhere holds no results; train a cell first, or name another folder."),
    ],
)
def test_a_mistake_is_answered_in_a_sentence(store: Path, arguments: list[str], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence.replace("?", r"\?")):
        browse(arguments)


def test_a_name_of_several_cells_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Of more cells than there are letters, two begin alike.
    fill_store(tmp_path / "results", datasets=9, trials=1, pretrains=("none", "scarf"), keeps_predictions=False)
    folder = f"results={tmp_path / 'results'}"
    letters = [str(cell["cell"])[0] for cell in listed(capsys, folder)]
    (shared, *_) = [letter for letter in letters if letters.count(letter) > 1]

    with pytest.raises(UsageError, match="name more letters of one"):
        browse(["show", shared, folder])


def test_help_names_every_job(capsys: pytest.CaptureFixture[str]) -> None:
    browse([])

    shown = capsys.readouterr().out
    for name in JOBS:
        assert f"scarf results {name}" in shown
