"""The study's page from a small subset, checked by hand."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from scarf_lightning.errors import UsageError
from scarf_lightning.options import labels
from scarf_lightning.results import CellStore, identity
from study import results as study_results
from study.page import by_table, common, complete, differences, gains_over, page
from study.results import ALL, NONE, SCARF, merged
from study.writing import budgets_of
from tests.cells import some_record
from tests.composing import ROOT, config_of
from tests.report.store import described

TABLES = 8


@pytest.fixture
def trials() -> pd.DataFrame:
    """Eight tables, two budgets, three trials: SCARF gains 1, 2, ... 8 points with 20 labels, and nothing with all."""
    shared = {"n_test": 200, "categorical_share": 0.0, "classes": 2}
    rows = [
        shared
        | {"dataset_id": d, "dataset": f"table-{d}", "labels": labels, "competitor": name, "trial": trial}
        | {"accuracy": 0.5 + 0.02 * trial + (gain * d / 100 if labels == "20" else 0)}
        | {"n_train": 700, "n_labelled": 20 if labels == "20" else 700, "rows": 1000 * d, "columns": 20 - 10 * (d % 2)}
        for d in range(1, TABLES + 1)
        for labels in ("20", ALL)
        for name, gain in ((NONE, 0), (SCARF, 1), ("XGBoost", 2))
        for trial in range(3)
    ]
    return pd.DataFrame(rows).reindex(columns=study_results.COLUMNS)


def test_differences_are_paired_by_trial_and_intervals_know_how_trials_overlap(trials: pd.DataFrame) -> None:
    lost = trials.drop(trials.index[(trials["dataset"] == "table-3") & (trials["competitor"] == SCARF)])
    found, tables = differences(lost, "20", SCARF, NONE)
    assert tables == [f"table-{d}" for d in (1, 2, 4, 5, 6, 7, 8)]
    np.testing.assert_allclose(found, np.array([[d / 100] * 3 for d in (1, 2, 4, 5, 6, 7, 8)]), atol=1e-12)

    # What tables have in common survives a correction.
    of_tables = by_table(trials, budgets_of(trials))
    of_tables["gain"] = [3, 1, 2] * 5 + [2]
    assert common(of_tables).startswith("With 20 labels, the gain goes with none of: rows, columns")

    trials.loc[(trials["competitor"] == SCARF) & (trials["trial"] == 2), "accuracy"] += 0.03
    row = by_table(trials, [ALL]).iloc[0]
    half = stats.t.ppf(0.975, 2) * np.std([0, 0, 3], ddof=1) * np.sqrt(1 / 3 + 200 / 700)
    assert (row["gain"], row["low"], row["high"]) == pytest.approx((1, 1 - half, 1 + half))
    # Of one trial given twice the later one counts.
    both = merged(trials, trials.head(1).assign(accuracy=0.9))
    assert (len(both), (both["accuracy"] == 0.9).sum()) == (len(trials), 1)


def test_few_tables_have_no_answer_and_leave_no_table_out(trials: pd.DataFrame) -> None:
    """A competitor of the study, and a budget, that few tables have so far; one of somebody else counts."""
    few_tables = trials[trials["dataset_id"] < 6]
    assert gains_over(few_tables, ["20"], [(SCARF, NONE)]) == []
    assert "no answer yet" in page(few_tables)[0]

    first = trials[(trials["dataset_id"] < 4) & (trials["competitor"] == SCARF) & (trials["labels"] == "20")]
    few = [first.assign(competitor="SubTab"), first.assign(labels="50")]
    pd.testing.assert_frame_equal(complete(pd.concat([trials, *few])), trials)
    assert set(complete(pd.concat([trials, first.assign(competitor="mine")]))["dataset_id"]) == {1, 2, 3}


def test_the_page_by_hand(trials: pd.DataFrame) -> None:
    gain = np.where(trials["competitor"] == SCARF, 0.02, 0.0)
    trials = trials.assign(balanced_accuracy=0.5 + gain, auroc=0.6 - gain)
    scarf = trials[(trials["competitor"] == SCARF) & (trials["labels"] == "20") & (trials["dataset_id"] <= 6)]
    mean = scarf.assign(competitor="SCARF, corruption=mean", accuracy=scarf["accuracy"] - 0.03)

    text, figures = page(pd.concat([trials, mean], ignore_index=True))

    assert list(figures)[:3] == ["learning-curves", "gains", "tables"]
    # The mean over tables of 1, 2, ... 8 points is 4.5, and all eight are better.
    assert "- With 20 labels: helps; mean +4.5, typical +4.5 (" in text
    assert "better on 8 of 8 tables, worse on 0; a table like these gains more than a point with " in text
    # With all labels the competitors are equal on every table; eight tables are too few to claim that.
    assert "- With all labels: cannot tell; mean +0.0, typical +0.0 (+0.0 to +0.0)" in text
    # Without pre-training: the mean of 50, 52 and 54 percent.
    assert "| no pre-training | 52.0 | 52.0 |" in text
    assert "- XGBoost: 20 labels hurts (−4.5); all labels cannot tell (+0.0)." in text
    # The gain follows the rows exactly, and is held against the five correlations.
    assert "With 20 labels, the gain goes with rows (rank correlation +1.00, p < 0.001)." in text
    assert "| table-8 | 8000 | 20 | 0.00 | 2 | +8.0 | +0.0 |" in text
    # Other metrics, and parts of SCARF, stand beside it.
    assert "| balanced accuracy | +2.0, helps | +2.0, helps |" in text
    assert "| AUROC | −2.0, hurts | −2.0, hurts |" in text
    assert "- SCARF, corruption=mean: 20 labels hurts (−3.0)." in text
    before, section = text.split("## Which part of SCARF matters")
    assert "| SCARF, corruption=mean | 20 | hurts | −3.0 | −3.0 (−3.0 to −3.0) | 6 | 0 | 6 |" in section
    assert "| SCARF, corruption=mean |" not in before
    # It ranks with none, and takes no table from those that do.
    assert "| SCARF, corruption=mean |" not in section.split("## Ranks")[1]
    assert "20 labels 8 tables" in section.split("## Ranks")[1]


CALLED = {"pretrain": "SCARF", "network": "MLP-PLR"}
OF_SCARF = {"pretrain": "scarf", "method": "control", "network": "mlp", "fit_on": "train"}


@pytest.mark.parametrize(
    ("options", "called", "asked", "name"),
    [
        ({}, {}, ("pretrain=scarf", "fit_on=train"), "SCARF"),
        ({"pretrain": "none"}, {"pretrain": "no pre-training"}, (), NONE),
        ({"fit_on": "all"}, {}, ("pretrain=scarf",), "SCARF, paper's recipe"),
        ({"network": "mlp_plr"}, {}, ("network=mlp_plr",), "MLP-PLR with SCARF"),
        ({"network": "mlp_plr", "pretrain": "none"}, {}, (), "MLP-PLR"),
        ({"method": "mixup"}, {"method": "mixup"}, ("method=mixup",), "SCARF, mixup"),
        ({}, {}, ("corruption=mean",), "SCARF, corruption=mean"),
        ({}, {}, ("corruption=marginal", "views=both"), "SCARF, views=both"),
        ({}, {}, ("recipe=realmlp_s", "finetune.fixed_below=1000", "split.copies=together"), "SCARF"),
    ],
)
def test_a_competitor_is_called_by_what_it_chose(
    options: dict[str, str], called: dict[str, str], asked: tuple[str, ...], name: str
) -> None:
    assert study_results.competitor(OF_SCARF | options, CALLED | called, asked) == name


def test_trials_of_a_folder_become_rows(tmp_path: Path) -> None:
    of_few = ("fit_on=train", "regime=few", "regime.labels=50")
    for overrides in (("pretrain=none", *of_few), ("pretrain=scarf", *of_few), ("method=logistic", "fit_on=train")):
        config = config_of("split=stratified", *overrides)
        store = CellStore(tmp_path / "results", identity(config, f"{1:064}"))
        of_config = described(config, labels=dict(labels(config)), overrides=overrides)
        store.describe(dataset="wdbc", dataset_id=1510, source="", **of_config)
        store.add(some_record(range(2), pretrained=config.pretrain.name != "none"))

    found = study_results.trials_of(tmp_path / "results")

    assert sorted(found["competitor"].unique()) == ["SCARF", "logistic regression", NONE]
    of_none = found[found["competitor"] == NONE]
    assert of_none[["labels", "trial", "accuracy"]].to_numpy().tolist() == [["50", 0, 0.5], ["50", 1, 0.51]]
    assert set(found.loc[found["competitor"] == SCARF, "labels"]) == {"50"}
    out = tmp_path / "mine.parquet"
    for _ in range(2):  # a second time adds nothing
        study_results.main([f"results={tmp_path / 'results'}", f"out={out}"])
    assert len(study_results.read(out)) == len(found)
    with pytest.raises(UsageError, match=r"^Name the folder to take trials from: results=FOLDER"):
        study_results.main(["folder=results"])


@pytest.mark.slow
def test_the_page_in_the_repository_is_the_one_that_is_made() -> None:
    """Another processor may round the last digit of a number otherwise."""
    if not study_results.FILE.exists():
        pytest.skip("the study has no results yet")
    made, kept = page(study_results.read())[0], (ROOT / "study" / "page.md").read_text(encoding="utf-8")

    pattern = r"[+−-]?\d[\d,]*(?:\.\d+)?"
    assert re.sub(pattern, "#", kept) == re.sub(pattern, "#", made)
    of_kept, of_made = (
        [float(n.replace("−", "-").replace(",", "")) for n in re.findall(pattern, t)] for t in (kept, made)
    )
    np.testing.assert_allclose(of_kept, of_made, atol=0.11)
