"""One ablation through all doors: each shows the same frame of effects, and the same words."""

from pathlib import Path

import pandas as pd
import pytest

import scarf_lightning
from scarf_lightning.cli import commands
from scarf_lightning.results import load
from scarf_lightning.results.loading import load_predictions
from scarf_lightning.verdicts import ComparedResults
from tests.loggers.wandb_files import runs, table
from tests.processes import TINY, here

NUMBERS = ["difference", "low", "high", "p"]
ABLATIONS = {
    "product": ("corruption=marginal,mean", "scaling=zscore,minmax"),
    "star": ("vary=one", "corruption=marginal,mean", "scaling=zscore,minmax", "pretrain=scarf,none"),
}


def compared(results: Path, factors: list[str]) -> ComparedResults:
    """What `compare` says of the predictions of a folder."""
    trials = load(results)
    # The first value of each factor is the reference, as on the command line.
    order = trials.sort_values(factors, ascending=[factor == "corruption" for factor in factors])
    frames = []
    for fingerprint, cell in order.groupby("fingerprint", sort=False):
        predicted = load_predictions(str(fingerprint), results).rename(columns={"class": "label"})
        frames.append(predicted.assign(dataset="wdbc", **cell[factors].iloc[0]))
    n_trained = float(trials["n_labelled"].median())
    return scarf_lightning.compare(pd.concat(frames), metric="accuracy", factors=factors, n_trained=n_trained)


@pytest.mark.slow
@pytest.mark.parametrize("name", ABLATIONS)
def test_one_ablation_has_the_same_numbers_and_words_at_each_door(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overrides = ("trials=10", *TINY, *ABLATIONS[name], "logger=wandb", f"paths.results={tmp_path / 'results'}")
    ran = here(commands.train, *overrides, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    monkeypatch.chdir(tmp_path)

    written = scarf_lightning.report(results="results")

    expected = written.effects
    html = written.index.read_text(encoding="utf-8")
    said = " ".join(ran.stdout.split())
    (sweep,) = [run for run in runs(tmp_path / "results") if run.id.startswith("sweep-")]
    for sentence in written.answer[: len(expected)]:
        assert sentence in said, "terminal"
        assert sentence in html, "page"
        assert sentence in sweep.notes, "W&B"
    kind = "ablation" if name == "star" else "effects"
    csv = pd.read_csv(tmp_path / "reports" / "results" / "tables" / f"{kind}.csv", keep_default_na=False)
    csv = csv[csv["answer"] != "reference"]
    logged = table(tmp_path / "results", sweep, kind)
    in_wandb = pd.DataFrame(logged["data"], columns=logged["columns"])
    in_wandb = in_wandb[in_wandb["answer"] != "reference"]
    factors = ["scaling", "pretrain", "corruption"] if name == "star" else ["scaling", "corruption"]
    found = compared(tmp_path / "results", factors)
    # Records have probabilities of three digits, which moves an interval in its fourth.
    assert [each.partition(" (95")[0] for each in found.sentences] == [
        each.partition(" (95")[0] for each in written.answer[: len(found.sentences)]
    ]
    for door in (csv, in_wandb, found.frame):
        assert door["what"].tolist() == expected["what"].tolist()
        assert door["answer"].tolist() == expected["answer"].tolist()
        for number in NUMBERS:
            assert door[number].astype(float).tolist() == pytest.approx(expected[number].tolist(), abs=1e-3)
