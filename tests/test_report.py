"""`report.py` as a user starts it: a process, its output, what it leaves on the disk."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from scarf_lightning.report.statistics import welch_test
from tests.cells import finish
from tests.composing import ROOT, cells_of
from tests.report.store import fill_store

HEAVY = {"torch", "pytorch_lightning", "lightning_fabric", "openml", "sklearn", "xgboost", "wandb"}

Process = subprocess.CompletedProcess[str]


def report(*arguments: str, cwd: Path, python_options: tuple[str, ...] = ()) -> Process:
    return subprocess.run(
        [sys.executable, *python_options, str(ROOT / "report.py"), *arguments],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def half_finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which `sweeps=quick trials=2` has finished the cells of control on all labels alone."""
    cwd = tmp_path_factory.mktemp("half")
    for cell in cells_of("sweeps=quick", "trials=2", f"paths.results={cwd / 'results'}"):
        if cell.axes()["regime"] == "full" and cell.axes()["method"] == "control":
            finish(cell, first=0.9 if cell.axes()["pretrain"] == "scarf" else 0.5)
    return cwd


def test_a_half_finished_sweep_is_drawn_without_torch(half_finished: Path) -> None:
    ran = report("sweeps=quick", "trials=2", cwd=half_finished, python_options=("-X", "importtime"))

    assert ran.returncode == 0, ran.stderr
    imported = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines()}
    assert {"pandas", "matplotlib.figure"} <= imported
    assert not imported & (HEAVY | {"matplotlib.pyplot"})
    assert [line for line in ran.stderr.splitlines() if not line.startswith("import time:")] == []
    lines = ran.stdout.splitlines()
    assert re.match(r"6 of 21 cells are finished, 12 of 42 trials; missing: wdbc .* and 7 more\.$", lines[0])
    assert lines[-1] == f"The report is {half_finished / 'reports' / 'quick' / 'index.html'}"
    left = {path.relative_to(half_finished).parts[0] for path in half_finished.iterdir()}
    assert left == {"results", "reports"}


def test_the_answer_comes_first(half_finished: Path) -> None:
    ran = report("sweeps=quick", "trials=2", "regime=full", "method=control", "out=page", cwd=half_finished)

    assert ran.returncode == 0, ran.stderr
    html = (half_finished / "page" / "index.html").read_text(encoding="utf-8")
    (first, *_) = re.findall(r'<section id="summary">\s*<h2>.*?</h2>\s*<p>(.*?)</p>', html)
    p = float(welch_test(0.905, 5e-5, 2, 0.505, 5e-5, 2).p)
    assert p < 0.05
    assert first.startswith(
        "All labels: SCARF, corruption.rate=0.6 beats control on 1 of 1 dataset, loses on 0, ties on 0; "
    )
    assert f"mean gain +{100 * (0.905 / 0.505 - 1):.2f} %" in first


def test_everything_in_a_folder(tmp_path: Path) -> None:
    fill_store(tmp_path / "mine", datasets=3, trials=3, pretrains=("none", "scarf"))

    ran = report("results=mine", "test=corrected", "adjust=holm", "alpha=0.1", "nemenyi=true", cwd=tmp_path)

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[:2] == [
        "All 6 cells are finished, 18 of 18 trials.",
        "A difference counts by corrected resampled t-test, p < 0.1 after Holm's correction over datasets.",
    ]
    assert (tmp_path / "reports" / "mine" / "figures" / "paper-agreement.svg").exists()
    html = (tmp_path / "reports" / "mine" / "index.html").read_text(encoding="utf-8")
    assert "python report.py results=mine test=corrected adjust=holm alpha=0.1 nemenyi=true" in html


def test_where_nothing_is_finished_it_says_so(tmp_path: Path) -> None:
    ran = report("sweeps=quick", cwd=tmp_path)

    assert ran.returncode == 1
    assert ran.stderr == "Nothing is finished yet: none of 21 cells has a trial; train them by `train.py` first.\n"
    assert ran.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], r"Name what the report is of: sweeps=NAME, or results=FOLDER\."),
        (["pretrain=scarf"], r"Name what the report is of: .*\."),
        (["quick"], r"quick is not an option; .*\."),
        (["sweeps=quick", "tets=welch"], r"tets=welch is not an option; .*\."),
        (["sweeps=quick", "test=student"], r"test=student is unknown; the options are: welch, paired, corrected\."),
        (["sweeps=quik"], r"sweeps=quik: there is no file .*quik\.yaml; the sweeps are: .*quick.*\."),
        (["results=nowhere"], r"nowhere holds no results; .*\."),
        (["results=nowhere", "regime=full"], r"regime=full cannot narrow results=FOLDER, .*\."),
    ],
)
def test_bad_input_is_answered_in_a_sentence(arguments: list[str], sentence: str, tmp_path: Path) -> None:
    ran = report(*arguments, cwd=tmp_path)

    assert ran.returncode == 2
    assert ran.stdout == ""
    assert re.fullmatch(sentence + "\n", ran.stderr)
    assert list(tmp_path.iterdir()) == []


def test_a_drawing_that_cannot_be_understood_is_named_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "title: Mine\ncells: [{dataset: wdbc}]\nreport: [{draw: win_matrix, title: A matrix}]\n", encoding="utf-8"
    )

    ran = report("sweeps=./mine.yaml", cwd=tmp_path)

    assert ran.returncode == 2
    assert ran.stderr == (
        "sweeps/mine.yaml, drawing 1 of report: win_matrix needs compare; its keys are: draw, title, compare, where.\n"
    )


def test_help_names_its_options(tmp_path: Path) -> None:
    ran = report("--help", cwd=tmp_path)

    assert ran.returncode == 0
    for option in ("sweeps=", "results=", "out=", "test=", "adjust=", "alpha=", "nemenyi="):
        assert option in ran.stdout
