"""`report.py`: its output, what it leaves on the disk; once as a user starts it, else in this process."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from scarf_lightning.cli import commands
from scarf_lightning.results import CellStore
from tests.cells import finish, identity_of, some_config, some_record
from tests.composing import ROOT, cells_of
from tests.processes import Process, here
from tests.reporting.store import described

HEAVY = {"pytorch_lightning", "lightning_fabric", "openml", "sklearn", "xgboost", "wandb"}


def report(*arguments: str, cwd: Path, python_options: tuple[str, ...] = ()) -> Process:
    command = [sys.executable, *python_options, str(ROOT / "report.py"), *arguments]
    return subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)


def report_here(*arguments: str, cwd: Path) -> Process:
    return here(commands.report, *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def half_finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which `sweeps=quick trials=2` has finished the cells of control on all labels alone."""
    cwd = tmp_path_factory.mktemp("half")
    for cell in cells_of("sweeps=quick", "trials=2", f"paths.results={cwd / 'results'}"):
        if cell.axes["regime"] == "full" and cell.axes["method"] == "control":
            finish(cell, first=0.9 if cell.axes["pretrain"] == "scarf" else 0.5)
    return cwd


@pytest.mark.slow
def test_a_half_finished_sweep_is_drawn_without_torch(half_finished: Path) -> None:
    ran = report("sweeps=quick", "trials=2", cwd=half_finished, python_options=("-X", "importtime"))

    assert ran.returncode == 0, ran.stderr
    imported = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines()}
    assert {"pandas", "matplotlib.figure"} <= imported
    assert not imported & (HEAVY | {"matplotlib.pyplot"})
    assert [line for line in ran.stderr.splitlines() if not line.startswith("import time:")] == []
    lines = ran.stdout.splitlines()
    assert re.match(
        r"On wdbc with regime=full, beside pretrain=none: pretrain=scarf, .* undecided, \+40\.00 ", lines[0]
    )
    (missing,) = [line for line in lines if line.startswith("6 of 21 cells are finished")]
    assert re.match(r".*, 12 of 42 trials; missing: .* and \d+ more\.$", missing)
    index = half_finished / "reports" / "quick" / "index.html"
    assert lines[-1] == f"The report is {index}"
    assert f'<p class="headline">{lines[0]}</p>' in index.read_text(encoding="utf-8")
    left = {path.relative_to(half_finished).parts[0] for path in half_finished.iterdir()}
    assert left == {"results", "reports"}


@pytest.mark.slow
def test_the_answer_comes_first(half_finished: Path) -> None:
    ran = report_here("sweeps=quick", "trials=2", "regime=full", "method=control", "out=page", cwd=half_finished)

    assert ran.returncode == 0, ran.stderr
    html = (half_finished / "page" / "index.html").read_text(encoding="utf-8")
    (first,) = re.findall(r'<p class="headline">(.*?)</p>', html)
    assert first == ran.stdout.splitlines()[0]
    assert "pretrain=scarf" in first
    assert first.endswith(" undecided, +40.00 points of accuracy.")
    assert "10 trials answer: the same command with trials=10." in ran.stdout.splitlines()


def test_a_plugin_that_only_the_cells_of_a_folder_name_is_not_imported(tmp_path: Path) -> None:
    for pretrain in ("none", "scarf"):
        config = some_config(pretrain=pretrain)
        store = CellStore(tmp_path / "mine", identity_of(config, "0" * 64))
        overrides = (f"pretrain={pretrain}", "plugins=[my_part]")
        store.describe(dataset="wdbc", dataset_id=1510, source="somewhere", **described(config, overrides=overrides))
        store.add(some_record(range(4), pretrained=pretrain != "none"))
    (tmp_path / "my_part.py").write_text("raise SystemExit('it ran')")
    ran = report_here("results=mine", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "Not imported: my_part" in ran.stdout


def test_where_nothing_is_finished_it_says_so(tmp_path: Path) -> None:
    ran = report_here("sweeps=./mine.yaml", cwd=with_a_sweep(tmp_path))

    said = "Nothing is finished yet: none of 1 cell has a trial; train them by `train.py` first.\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", said)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.yaml"]


def with_a_sweep(folder: Path, drawing: str = "") -> Path:
    """A folder with a sweep of one cell, and perhaps a drawing of it."""
    sweep = f"title: Mine\ncells: [{{dataset: wdbc}}]\nreport: [{drawing}]\n"
    (folder / "mine.yaml").write_text(sweep, encoding="utf-8")
    return folder


OF_WHAT = r"Name what the report is of: sweeps=NAME, or results=FOLDER\."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("", OF_WHAT),
        ("pretrain=scarf", OF_WHAT),
        (
            "sweeps=quik",
            r"sweeps=quik: there is no .*file\. Did you mean quick\? The sweeps are: .*\.",
        ),
        ("results=nowhere", r"nowhere holds no results; .*\."),
        ("sweeps=mine.yaml metric=gini", r"metric=gini is unknown. The metrics are: accuracy, .*\."),
    ],
)
def test_bad_input_is_answered_in_a_sentence(arguments: str, sentence: str, tmp_path: Path) -> None:
    ran = report_here(*arguments.split(), cwd=with_a_sweep(tmp_path))

    assert (ran.returncode, ran.stdout) == (2, "")
    assert re.fullmatch(sentence + "\n", ran.stderr)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.yaml"]
