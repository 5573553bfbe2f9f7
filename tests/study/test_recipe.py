"""Means of candidates for the recipe, checked by hand."""

from pathlib import Path

import pandas as pd
import pytest

from scarf_lightning.errors import UsageError
from study import recipe
from tests.composing import ROOT


def trials() -> pd.DataFrame:
    shared = {
        "regime": "few", "regime.labels": 20, "method": "control", "finetune.min_steps": 0, "finetune.patience": 3,
        "finetune.weight_decay": 0.0, "pretrain.patience": 3, "finetune_seconds": 2.0,
    }  # fmt: skip
    rows = [
        shared
        | {"dataset": dataset, "pretrain": pretrain, "finetune.monitor": monitor, "trial": trial}
        | {"accuracy": level + gain + more + 0.01 * trial}
        for dataset, level in (("a", 0.6), ("b", 0.8))
        for pretrain, gain in (("none", 0.0), ("scarf", 0.04))
        for monitor, more in (("error", 0.0), ("loss", 0.02))
        for trial in range(3)
    ]
    return pd.DataFrame(rows)


def test_means_over_tables_and_networks() -> None:
    text = recipe.tables(trials())

    assert "20 labels, 2 tables" in text
    # (0.6 + 0.8) / 2 + 0.01 for the trials; 0.02 for the loss, 0.04 for SCARF.
    assert "| monitor=loss min\\_steps=0 patience=3 | 73.00 | 77.00 | 75.00 | 2.00 |" in text
    assert "| monitor=error min\\_steps=0 patience=3 | 71.00 | 75.00 | 73.00 | 2.00 |" in text
    # A table that lacks a candidate is left out.
    some = trials()
    some = some[(some["dataset"] != "b") | (some["finetune.monitor"] == "error") | (some["pretrain"] == "none")]
    assert "20 labels, 1 table:" in recipe.tables(some)


def test_where_networks_are_below_logistic_regression() -> None:
    linear = trials()
    linear = linear[(linear["pretrain"] == "none") & (linear["finetune.monitor"] == "error")]
    linear = linear.assign(method="logistic", accuracy=0.75 + 0.001 * linear["trial"])

    text = recipe.tables(pd.concat([trials(), linear]))

    # SCARF is the better network: 0.64 to 0.66 on a, 0.84 to 0.86 on b, with the error as the monitor.
    assert "monitor=error min_steps=0 patience=3: below logistic regression in 1 of 2 pairs: a 20 (-10.1)" in text


def test_the_trials_of_a_folder_are_added_and_replace_their_like(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "recipe.parquet"
    kept = trials().assign(fingerprint=[f"{number // 3:016x}" for number in range(24)])[recipe.KEPT]
    kept.to_parquet(file)
    again, another = kept[:3].assign(accuracy=0.5), kept[:3].assign(dataset="c", fingerprint=f"{99:016x}")
    monkeypatch.setattr(recipe, "FILE", file)
    monkeypatch.setattr(recipe.scarf_lightning, "load", lambda folder: pd.concat([again, another]))

    recipe.main([f"results={tmp_path}"])

    found = pd.read_parquet(file)
    assert len(found) == 27
    assert found[recipe.TRIAL].duplicated().sum() == 0
    assert (found.loc[found["fingerprint"] == f"{0:016x}", "accuracy"] == 0.5).all()
    assert set(found["dataset"]) == {"a", "b", "c"}
    with pytest.raises(UsageError, match=r"^Name the folder with the cells of study/recipe\.yaml: results=FOLDER; or "):
        recipe.main(["folder=results"])


@pytest.mark.slow
def test_the_tables_of_the_page_are_those_that_are_made(capsys: pytest.CaptureFixture[str]) -> None:
    recipe.main([])

    made = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| monitor")]
    page = (ROOT / "study" / "recipe.md").read_text(encoding="utf-8").splitlines()
    assert len(made) > 20
    assert set(made) <= set(page)
