"""A figure of the paper beside the published one, by one command."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

from paper.beside import main
from paper.published import published_accuracy
from tests.composing import ROOT


@pytest.mark.slow
def test_a_table_of_the_paper_beside_the_published_one_by_one_command(tmp_path: Path) -> None:
    """The bundled table is one of the paper's, so no download is needed. The epochs are the paper's too, which takes
    some seconds: cells with other settings are beside nothing."""
    overrides = ["sweeps=absolute_accuracy", "dataset=wdbc", "regime=full", "pretrain=none,scarf", "method=control"]
    ran = subprocess.run(
        [sys.executable, "-m", "paper.beside", *overrides, "trials=2"],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    page = tmp_path / "reports" / "absolute_accuracy"
    assert ran.stdout.splitlines()[-1] == f"The report is {page / 'index.html'}"
    assert "Beside the paper" in (page / "index.html").read_text(encoding="utf-8")
    with (page / "tables" / "paper-agreement-cells.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    # Table tab:absolute_acc, dataset 1510.
    assert [(row["dataset"], row["pretrain"], row["trials"]) for row in rows] == [
        ("wdbc", "none", "2"),
        ("wdbc", "scarf", "2"),
    ]
    published = published_accuracy()
    of_wdbc = published[(published["dataset_id"] == 1510) & (published["regime"] == "full")]
    for row in rows:
        its = of_wdbc[(of_wdbc["pretrain"] == row["pretrain"]) & (of_wdbc["method"] == "control")]
        assert float(row["paper"]) == pytest.approx(100 * its["accuracy"].item())
        assert abs(float(row["difference"])) < 10


def test_a_command_without_a_sweep_names_some(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dataset=wdbc"]) == 2
    assert "such as sweeps=absolute_accuracy" in capsys.readouterr().err
