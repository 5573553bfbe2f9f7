"""The study's analysis against closed forms and made-up trials of a known truth, and its page against its trials."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from study.third_edition import comparisons
from study.third_edition.comparisons import BUDGETS, mean_and_error, worth
from study.third_edition.findings import findings
from study.third_edition.page import PAGE, page
from tests.composing import ROOT

FAMILIES = np.repeat(np.arange(12), [1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 9, 10])
NAMES = tuple(f"table {number}" for number in range(len(FAMILIES)))
OF_TABLES = pd.Series(FAMILIES, NAMES).map("family {}".format)


def trials(times: float) -> pd.DataFrame:
    """Trials of a network whose AUROC rises by 4 points with each doubling, and of a SCARF worth so many times the
    labels; of a CatBoost worth twice as many, and of a linear model that is alike."""
    random, rows = np.random.default_rng(0), []
    worths = {"no pre-training": 1, "SCARF": times, "CatBoost": 2, "logistic regression": 1}
    for name in NAMES:
        level = random.normal(60, 8)
        for labels, (competitor, factor), trial in itertools.product(BUDGETS, worths.items(), range(5)):
            curve = level + 4 * np.log2(labels * factor / 20)
            rows.append((name, labels, competitor, trial, (curve + random.normal(0, 0.5)) / 100))
    return pd.DataFrame(rows, columns=["dataset", "labels", "competitor", "trial", "auroc"])


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparisons, "DRAWS", 300)


def test_the_error_of_a_mean_of_families_of_one_table_is_the_usual_one() -> None:
    values = np.random.default_rng(0).normal(size=30)
    ((mean,), (error,)) = mean_and_error(values, (np.eye(30)[[row]] for row in range(30)))
    assert mean == pytest.approx(values.mean())
    assert error == pytest.approx(stats.sem(values))


@pytest.mark.parametrize(
    ("competitor", "expected"), [(60, 1.0), (63, np.sqrt(50 / 20)), (66, 2.5), (57, np.sqrt(20 / 50))]
)
def test_a_worth_lies_on_straight_lines_over_the_logarithm_of_labels(
    competitor: float, expected: float, few_draws: None
) -> None:
    """Six points between 20 and 50 labels; the line goes on beyond its end."""
    columns = pd.MultiIndex.from_tuples([(labels, "none") for labels in BUDGETS] + [(20, "other")])
    means = pd.DataFrame([[60, 66, 71, 77, competitor]] * 10, index=NAMES[:10], columns=columns)
    found = worth(means, OF_TABLES, "other", 20, "none")
    assert found is not None
    assert [found.mean, found.low, found.high] == pytest.approx([expected] * 3)


@pytest.mark.parametrize(("times", "answer"), [(1.0, "cannot tell"), (1.5, "yes"), (0.7, "hurts")])
def test_findings_are_those_of_the_truth(times: float, answer: str, few_draws: None) -> None:
    first, second, third = findings(trials(times), OF_TABLES)
    assert first.startswith(f"Does SCARF raise AUROC? {answer.capitalize()} with 20, 50, 100 and 500 labels (")
    several = f"{', '.join([f'{times}'] * 3)} and {times}"
    assert second == f"SCARF is worth {several} times the labels at 20, 50, 100 and 500."
    assert "CatBoost is worth 2.0, 2.0, 2.0 and 2.0 times the labels, logistic regression 1.0, " in third
    assert max(len(each.split()) for each in (first, second, third)) <= 25


def first_bullets(file: str, heading: str) -> list[str]:
    """The first list below a heading of a page."""
    _, _, rest = (ROOT / file).read_text(encoding="utf-8").partition(f"{heading}\n")
    lines = itertools.dropwhile(lambda line: not line.startswith("- "), rest.splitlines())
    return [*itertools.takewhile(lambda line: line.startswith("- "), lines)]


def test_the_first_pages_have_the_three_findings_of_the_study() -> None:
    found = first_bullets("study/third_edition/page.md", "# What is pre-training worth, in labels?")
    assert len(found) == 3
    for page_of_site in ("README.md", "docs/index.md"):
        assert first_bullets(page_of_site, "## What we found") == found


@pytest.mark.slow
def test_the_page_in_the_repository_is_the_one_that_is_made() -> None:
    text, _ = page()
    assert text == PAGE.read_text(encoding="utf-8")
