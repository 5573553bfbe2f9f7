"""A user's own table, as bad as they are, through one command: read, trained, compared."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.results import load
from tests.composing import ROOT

ROWS = 400


def own_table() -> pd.DataFrame:
    """Ids, dates and prices as text, three quarters of the target missing, and a column that gives it away."""
    random = np.random.default_rng(11)
    churned = random.integers(2, size=ROWS)
    days = pd.to_timedelta(random.integers(900, size=ROWS), unit="D")
    return pd.DataFrame(
        {
            "customer": [f"C-{i * 7919 % 9973:05d}" for i in range(ROWS)],
            "joined": (pd.Timestamp("2021-03-01") + days).strftime("%d.%m.%Y"),
            "price": [f"€ {1_200 + 400 * value:,.2f}" for value in churned + random.normal(size=ROWS)],
            "visits": random.poisson(3 + 2 * churned),
            "plan": random.choice(["basic", "plus", "family"], ROWS),
            "refund": np.where(churned == 1, "paid", "none due"),
            "churned": np.where(random.random(ROWS) < 0.75, None, np.array(["no", "yes"])[churned]),
        }
    )


def script(name: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / name), *arguments],
        cwd=cwd,
        env=os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.mark.slow
def test_one_command_reads_it_says_how_and_compares(tmp_path: Path) -> None:
    own_table().to_csv(tmp_path / "customers.csv", index=False)

    ran = script(
        "train.py", "-m", "dataset=csv", "dataset.path=customers.csv", "dataset.target=churned", "pretrain=none,scarf",
        "method=control,logistic,xgboost", "finetune.min_steps=100", "finetune.monitor=loss", "pretrain.max_epochs=20",
        "trials=2", "trainer=cpu", cwd=tmp_path,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stderr
    said = " ".join(ran.stderr.split())
    for column, kind in (("customer", "id"), ("joined", "dates"), ("price", "numbers"), ("visits", "numbers")):
        assert any(column in line and kind in line for line in ran.stderr.splitlines()), column
    for method in ("logistic", "xgboost"):
        assert f"Left out: method={method} does not go with pretrain=scarf" in said
    assert "4 cells of dataset=customers" in ran.stdout
    results = load(tmp_path / "results")
    labelled = own_table()["churned"].notna().sum()
    assert set(results["n_labelled"] + results["n_validation"] + results["n_test"]) == {labelled}
    assert set(results["n_unlabelled"]) == {ROWS - labelled}
    assert (results["accuracy"] > 0.8).all(), "refund gives it away"

    assert said.count("Column 'customer': it has a different value in every row and is left out;") == 1
    verdict = ran.stdout.partition("seconds\n")[2]
    answers = ("scarf helps", "scarf hurts", "no practical difference", "undecided")
    assert any(answer in verdict for answer in answers), ran.stdout
