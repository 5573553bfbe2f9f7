"""A sweep of columns to leave out, from the command line to the report."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scarf_lightning
from scarf_lightning.errors import UsageError
from scarf_lightning.results import load_predictions

VALUES = ["[a]", "[b c]", "null"]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(120, 3)), columns=["a", "b c", "d"])
    frame.assign(target=np.where(frame["a"] > 0, "yes", "no")).to_csv(tmp_path / "mine.csv", index=False)
    of_file = ["dataset=csv", "dataset.path=mine.csv", "dataset.target=target"]
    return [*of_file, "dataset.drop=[a],[b c],null", "pretrain=none", "method=logistic", "trials=3"]


@pytest.mark.slow
def test_it_ends_in_named_lines_on_the_same_rows_and_ranks_the_columns(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(
        UsageError, match=r"^reference=d is no competitor .* The competitors are: 'dataset\.drop=\[a\]', 'dataset"
    ):
        scarf_lightning.run([*asked, "reference=d"])
    assert not Path("results").exists()

    trials = scarf_lightning.run(asked)

    said = capsys.readouterr().out
    assert all(any(line.startswith(value) for line in said.splitlines()) for value in VALUES)
    assert "On mine, beside dataset.drop=null: dataset.drop=[b c] undecided (3 trials)" in said
    assert set(trials["dataset"]) == {"mine"}
    means = trials.groupby("dataset.drop")["accuracy"].mean()
    assert means["null"] > means["[a]"] + 0.2
    rows = [
        load_predictions(name).groupby("trial")["row"].apply(sorted).tolist() for name in set(trials["fingerprint"])
    ]
    assert rows[0] == rows[1] == rows[2]
    page = scarf_lightning.report(results="results")
    effects = pd.read_csv(page.index.parent / "tables" / "effects.csv")
    assert sorted(effects["what"]) == [f"dataset.drop={value}" for value in VALUES]
    assert set(effects["datasets"]) == {1}

    # A run has any competitor as its reference.
    scarf_lightning.run([*asked, "reference='dataset.drop=[a]'"])

    assert "On mine, beside dataset.drop=[a]: " in capsys.readouterr().out
