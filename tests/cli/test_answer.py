"""One command answers of a user's own table whether pre-training helps: from the file to the page."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scarf_lightning
from tests.composing import ROOT
from tests.processes import TINY

pytestmark = pytest.mark.slow

N, N_LABELLED = 300, 120


def customers() -> pd.DataFrame:
    """A dirty file: an id, gaps, categories; 120 of 300 rows have a label, which two columns tell."""
    random = np.random.default_rng(3)
    score = random.normal(size=N)
    group = random.choice(["basic", "plus", "family"], N)
    churns = score + (group == "plus") + 0.5 * random.normal(size=N) > 0.3
    frame = pd.DataFrame(
        {
            "id": [f"C-{i:05d}" for i in range(N)],
            "income": np.exp(9 + 0.3 * score),
            "plan": group,
            "visits": np.where(random.random(N) < 0.1, np.nan, random.poisson(3, N)),
            "churned": np.where(churns, "yes", "no"),
        }
    )
    frame.loc[random.permutation(N)[N_LABELLED:], "churned"] = None
    frame.loc[random.random(N) < 0.1, "plan"] = None
    return frame


def test_an_own_file_is_answered_with_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    customers().to_csv(tmp_path / "customers.csv", index=False)
    overrides = ("sweeps=answer", "dataset.path=customers.csv", "dataset.target=churned", "trials=3", *TINY)

    ran = subprocess.run(
        [sys.executable, str(ROOT / "train.py"), *overrides],
        cwd=tmp_path, env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stderr
    monkeypatch.chdir(tmp_path)
    written = scarf_lightning.report([*overrides], out="page")
    assert "Left out: method=ridge" in str(written)
    effects = written.tables["effects"].set_index(["what", "context"])
    control, scarf = "pretrain=none, method=control", "pretrain=scarf, method=control"
    assert {(control, "all labels"), (scarf, "20 labels")} <= set(effects.index)
    # The answer that needs no model is a line of the table.
    assert ("pretrain=none, method=constant", "all labels") in effects.index
    accuracy = effects["accuracy"]
    # Networks of two epochs learn nothing.
    logistic = accuracy["pretrain=none, method=logistic", "all labels"]
    assert logistic > accuracy[control, "all labels"] + 0.1
    assert (tmp_path / "page" / "index.html").is_file()
