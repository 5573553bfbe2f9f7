"""The study's analysis against closed forms and made-up trials of a known truth, and its pages against its trials."""

import itertools
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from scarf_lightning.verdicts.worth import worth_in_labels
from study.fourth_edition import comparisons, page
from study.fourth_edition.bounds import bounds
from study.fourth_edition.comparisons import compare_over, mean_and_error, means_of, worth
from study.fourth_edition.findings import findings
from study.fourth_edition.sensitivity import EXTREME
from study.fourth_edition.trials import (
    BUDGETS,
    CONSTANT,
    FOLDER,
    LINEAR,
    N_TRIALS,
    NETWORKS,
    NONE,
    PRETRAININGS,
    read_facts,
    read_trials,
)
from tests.composing import ROOT

FAMILIES = np.repeat(np.arange(12), [1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 9, 10])
NAMES = tuple(f"table {number}" for number in range(54))
FACTS = pd.DataFrame({"family": FAMILIES}, NAMES)


def trials(times: float, tables: Sequence[str] = NAMES) -> pd.DataFrame:
    """Trials of networks whose AUROC rises by 4 points with each doubling, of a SCARF that is worth so many times the
    labels, and of other competitors that are worth none."""
    random, rows = np.random.default_rng(0), []
    for name, labels, competitor in itertools.product(tables, BUDGETS, (*NETWORKS, LINEAR, "CatBoost", CONSTANT)):
        factor = times if competitor == "SCARF" else 1
        aurocs = random.normal(0.6 + 0.04 * np.log2(labels * factor / 20), 0.005, N_TRIALS[labels])
        rows += [(name, labels, competitor, trial, auroc) for trial, auroc in enumerate(aurocs)]
    return pd.DataFrame(rows, columns=["dataset", "labels", "competitor", "trial", "auroc"])


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparisons, "DRAWS", 1000)


def test_the_error_of_a_mean_of_families_of_one_table_is_the_usual_one() -> None:
    values = np.random.default_rng(0).normal(size=30)
    ((mean,), (error,)) = mean_and_error(values, (np.eye(30)[[row]] for row in range(30)))
    assert mean == pytest.approx(values.mean())
    assert error == pytest.approx(stats.sem(values))


@pytest.mark.parametrize(("competitor", "expected"), [(60, 1.0), (63, np.sqrt(50 / 20)), (57, np.sqrt(20 / 50))])
def test_a_worth_lies_on_straight_lines_over_the_logarithm_of_labels(
    competitor: float, expected: float, few_draws: None
) -> None:
    """Six points between 20 and 50 labels; the line goes on beyond its end."""
    known = {(20, NONE): 60, (50, NONE): 66, (100, NONE): 71, (500, NONE): 77, (20, "other"): competitor}
    means = pd.DataFrame(known, NAMES[:10])
    found = worth(means, FACTS, "other", NONE, 20)
    assert [found.mean, found.low, found.high] == pytest.approx([expected] * 3)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (1.0, ["No pre-training was found to raise AUROC.", "None was found to hurt."]),
        (
            1.5,
            ["Does SCARF raise AUROC? Yes with 20, 50, 100 and 500 labels (+2.", "54, 54, 54 and 54 of 54 ", "No oth"],
        ),
        (0.7, ["No pre-training was found to raise AUROC.", "SCARF: hurts with 20, 50, 100 and 500 labels."]),
    ],
)
def test_findings_are_those_of_the_truth(times: float, expected: list[str], few_draws: None) -> None:
    means = means_of(trials(times), "auroc")
    known, without = (compare_over(NONE, PRETRAININGS, means, FACTS, heading) for heading in (None, EXTREME))
    found = findings("AUROC", known, without)
    assert all(sentence.startswith(start) for sentence, start in zip(found, expected, strict=True)), found


def test_a_table_that_lacks_a_trial_or_its_metric_does_not_count_with_that_many_labels() -> None:
    known = trials(1.0, NAMES[:1])
    known.loc[0, "auroc"] = np.nan
    means = means_of(known[:-1], "auroc")
    assert set(means.columns[means.isna().all()]) == {(20, NONE), (500, CONSTANT)}


def test_bounds_say_of_each_network_whether_it_meets_them() -> None:
    """The first trial is a tenth of those with 20 and 50 labels, and a fifth of those with 100 and 500."""
    known = trials(1.0, NAMES[:5])
    name, is_first = known["competitor"], known["trial"] == 0
    known["auroc"] = 0.7 - 0.006 * (name == "SCARF")
    known["log_loss"] = 1 + ((name == "VIME") & is_first)
    known["one_class"] = (name == NONE) & is_first
    points, worse, alone = bounds(known, means_of(known, "auroc")).values()
    failing = [name for name in (*points.index, *worse.index, *alone.index) if name.endswith("not met")]
    assert failing == ["SCARF: not met", "VIME: not met", "no pre-training: not met"]
    assert worse.loc["VIME: not met", 100] == 20
    assert alone.loc["no pre-training: not met", "all"] == pytest.approx(40 / 3)


def test_there_is_no_page_while_a_table_lacks_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = read_facts().query("kind == 'classes'").index
    monkeypatch.setattr(page, "read_trials", lambda: trials(1.0, tables)[1:])
    with pytest.raises(SystemExit, match=r"page\.md is not made, for 1 of 71 tables of classes"):
        page.main()


def first_bullets(file: str, heading: str) -> list[str]:
    """The list below a heading of a page."""
    _, _, rest = (ROOT / file).read_text(encoding="utf-8").partition(f"{heading}\n")
    return [line for line in rest.split("\n## ")[0].splitlines() if line.startswith("- ")]


def test_the_first_pages_have_the_findings_of_the_study() -> None:
    findings_of_page = first_bullets("study/fourth_edition/page.md", "Tables of classes")
    assert first_bullets("docs/index.md", "## What we found") == findings_of_page
    # The last one, on the worth in labels, is in README's picture.
    assert first_bullets("README.md", "## What we found") == findings_of_page[:-1]


def test_guides_repeat_what_the_study_found() -> None:
    guides = (ROOT / "docs" / "few-labels.md", ROOT / "docs" / "questions.md")
    few_labels, questions = (" ".join(guide.read_text(encoding="utf-8").split()) for guide in guides)
    answer, gains, *_ = first_bullets("study/fourth_edition/page.md", "Tables of classes")
    points = re.findall(r"\+(\d\.\d)", answer)
    n_gains = [int(n) for n in re.findall(r"\d+", gains.partition(" of ")[0])]
    tables = f"gains on {min(n_gains)} to {max(n_gains)} of 71 tables"
    assert f"{tables}, by {min(points)} to {max(points)} points of AUROC" in questions

    (row,) = re.findall(r"\| (binning, over no.* ×.*)", (FOLDER / "page.md").read_text(encoding="utf-8"))
    multiples = re.findall(r"×(\d\.\d\d)", row)
    assert f"worth {min(multiples)} to {max(multiples)} times the labels" in few_labels

    answer, *_ = first_bullets("study/fourth_edition/numbers.md", "Tables of numbers")
    expected = r"- Does binning raise (.*)\? Yes with (.*) labels \(.*; cannot tell with (\d+) labels"
    metric, helped, undecided = re.findall(expected, answer)[0]
    assert f"raises {metric} with {helped} labels; with {undecided} the study cannot tell" in few_labels


@pytest.mark.slow
def test_the_pages_in_the_repository_are_those_that_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "FOLDER", tmp_path)
    page.main()
    for name in ("page.md", "numbers.md"):
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("competitor", ["SCARF", "VIME", "CatBoost"])
def test_the_worth_in_the_package_is_that_of_the_study(competitor: str, few_draws: None) -> None:
    """The study continues its curves without an end, and draws families of tables for its intervals."""
    facts = read_facts().query("kind == 'classes'")
    trials_of_classes = read_trials()
    means = means_of(trials_of_classes[trials_of_classes["dataset"].isin(facts.index)], "auroc")
    reference, own = (means.xs(name, axis="columns", level="competitor")[[*BUDGETS]] for name in (NONE, competitor))
    are_whole = reference.notna().all(axis="columns") & own.notna().all(axis="columns")

    for place, labels in enumerate(BUDGETS):
        expected = worth(means, facts, competitor, NONE, labels)
        known = own.loc[are_whole, labels].to_numpy(), reference[are_whole].to_numpy()
        found = worth_in_labels(*known, BUDGETS, place)
        assert expected is not None
        assert found.worth == pytest.approx(np.clip(expected.mean, found.least, found.most))
        assert found.n == are_whole.sum() == 71
