"""`scarf results` on a store that no cell was trained for."""

import json
import re
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import pandas as pd
import pytest

from scarf_lightning.cli.scarf import run
from scarf_lightning.errors import UsageError
from scarf_lightning.results import load
from scarf_lightning.results.records import read_sealed, sealed
from tests.reporting.store import fill_store

Shown = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pre-trainings on nine datasets; nobody changes them."""
    results = tmp_path_factory.mktemp("filled") / "results"
    fill_store(results, datasets=9, trials=3, pretrains=("none", "scarf"), keeps_predictions=False)
    return results


@pytest.fixture
def store(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cells of two datasets, three trials each."""
    monkeypatch.chdir(tmp_path)
    frame = load(filled)
    for cell in frame[frame["dataset"].isin(sorted(set(frame["dataset"]))[:2])]["fingerprint"].unique():
        copytree(filled / cell, tmp_path / "results" / cell)
    return tmp_path / "results"


def listed(capsys: Shown, *arguments: str) -> list[dict[str, Any]]:
    run(["results", "ls", *arguments, "--json"])
    cells: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["cells"]
    return cells


def test_ls_has_a_line_for_each_cell_with_its_mean_the_newest_first(store: Path, capsys: Shown) -> None:
    means = load(store).groupby("fingerprint")["accuracy"].mean()

    cells = listed(capsys)
    run(["results", "ls"])
    shown = capsys.readouterr().out

    assert {cell["cell"]: cell["value"] for cell in cells} == pytest.approx(means.to_dict())
    assert {cell["trials"] for cell in cells} == {3}
    assert len({cell["name"] for cell in cells}) == 4
    for cell in cells:
        assert f"{cell['cell'][:8]} {cell['name']}" in " ".join(shown.split())
        assert f"{means[cell['cell']]:.4f}" in shown
    written = [cell["written"] for cell in cells]
    assert written == sorted(written, reverse=True)
    narrowed = listed(capsys, "pretrain=scarf")
    assert ["SCARF" in cell["name"] for cell in narrowed] == [True, True]


def test_a_cell_without_a_trial_has_no_age_and_comes_last(store: Path, capsys: Shown) -> None:
    empty = sorted(store.glob("*/cell.json"))[0].parent
    rmtree(empty / "stacks")

    last = listed(capsys)[-1]
    run(["results", "ls"])
    shown = capsys.readouterr().out

    assert last["cell"] == empty.name
    assert (last["trials"], last["value"], last["written"], last["version"]) == (0, None, None, None)
    (line,) = [line.split() for line in shown.splitlines() if line.startswith(empty.name[:8])]
    assert line[-4:] == ["–", "0", "–", "–"]


def test_dropped_cells_are_read_no_more_and_kept(store: Path, capsys: Shown) -> None:
    run(["results", "drop", "pretrain=scarf"])

    assert len(capsys.readouterr().out.splitlines()) == 2
    assert {cell["options"]["pretrain"] for cell in listed(capsys)} == {"none"}
    # A cell that was dropped can be put back by hand.
    assert len(list((store / "set_aside").rglob("cell.json"))) == 2
    assert len(list((store / "set_aside").rglob("trials.json"))) == 2


def test_export_writes_a_row_for_each_trial(store: Path) -> None:
    trials = load(store)
    expected = trials.loc[trials["pretrain"] == "scarf", "accuracy"]
    for ending, read in ((".csv", pd.read_csv), (".parquet", pd.read_parquet), (".json", pd.read_json)):
        run(["results", "export", f"trials{ending}", "pretrain=scarf"])
        assert sorted(read(f"trials{ending}")["accuracy"]) == pytest.approx(sorted(expected))


@pytest.mark.parametrize("given", [3, 0.5, True, "lars"])
def test_parquet_has_an_option_that_is_null_in_one_cell_as_text_and_unused_as_missing(store: Path, given: Any) -> None:
    values = (given, "null", None, given)
    for value, cell in zip(values, sorted(store.glob("*/cell.json")), strict=True):
        described = read_sealed(cell)
        described["options"].pop("finetune.patience", None)
        if value is not None:
            described["options"]["finetune.patience"] = value
        cell.write_text(sealed(described))
    run(["results", "export", "trials.parquet"])
    exported = pd.read_parquet("trials.parquet")
    kept = exported.drop_duplicates("fingerprint").sort_values("fingerprint")["finetune.patience"]
    assert [None if pd.isna(value) else value for value in kept] == [str(given), "null", None, str(given)]
    # A column of one type keeps it.
    assert exported["trial"].dtype.kind == "i"
    assert exported["accuracy"].dtype == "float64"


def test_export_replaces_a_file_by_force_alone_and_quotes_formulas(store: Path) -> None:
    cell = next(store.glob("*/cell.json"))
    described = read_sealed(cell)
    described["dataset"], described["options"]["scaling"] = "=cmd|' /C calc'!A0", "@SUM(1)"
    cell.write_text(sealed(described))
    Path("precious.csv").write_text("theirs")
    Path("link.csv").symlink_to("precious.csv")
    for file, sentence in (("precious.csv", "is there already"), ("link.csv", "is a link")):
        with pytest.raises(UsageError, match=sentence):
            run(["results", "export", file])
    assert Path("precious.csv").read_text() == "theirs"

    run(["results", "export", "precious.csv", "--force"])
    exported = pd.read_csv("precious.csv")
    assert "'=cmd|' /C calc'!A0" in set(exported["dataset"])
    assert "'@SUM(1)" in set(exported["scaling"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("lst", "scarf results has no command lst. Did you mean ls? Its commands are: "),
        ("show", "scarf results has no command show. Its commands are: ls, drop, export."),
        ("drop zz", "There is no cell zz; scarf results ls lists the cells."),
        ("ls what", "what: scarf results ls takes options such as pretrain=scarf."),
        ("ls --all", "--all is not known; scarf results ls --help names what is."),
        ("ls pretrain=vime", "No cell has pretrain=vime. The values of pretrain are: none, scarf."),
        ("drop", "Name what to drop"),
        ("export", "Name one file to write: scarf results export trials.csv."),
        ("export trials.xls", "trials.xls has no known ending. The endings are: .csv, .parquet, .json."),
        ("ls results=elsewhere", "elsewhere holds no results; train a cell first, or name another folder."),
    ],
)
def test_a_mistake_is_answered_in_a_sentence(
    arguments: str, sentence: str, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(filled.parent)
    with pytest.raises(UsageError, match=re.escape(sentence).replace(r"\.\*", ".*")):
        run(["results", *arguments.split()])


def test_a_name_of_several_cells_is_refused(filled: Path, capsys: Shown) -> None:
    # Of more cells than there are letters, two begin alike.
    letters = [cell["cell"][0] for cell in listed(capsys, f"results={filled}")]
    (shared, *_) = [letter for letter in letters if letters.count(letter) > 1]

    with pytest.raises(UsageError, match="name more letters of one"):
        run(["results", "drop", shared, f"results={filled}"])


def test_help_names_every_job(capsys: Shown) -> None:
    assert run(["results"]) == 0

    shown = capsys.readouterr().out
    for name in ("ls", "drop", "export"):
        assert re.search(rf"^ +{name} +\w", shown, re.MULTILINE)
