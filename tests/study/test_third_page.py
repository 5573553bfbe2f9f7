"""The page of the third edition, from made-up trials of a known truth."""

import itertools
import json
import re

import numpy as np
import pandas as pd
import pytest

from study.results import FILE, read
from study.third_edition.comparisons import Tables
from study.third_edition.findings import BUDGETS, LONGEST
from study.third_edition.page import FOLDER, KINDS, PRETRAININGS, WHERE, page, prepared
from study.third_edition.sensitivity import VARIANTS
from tests.composing import ROOT

FAMILIES = np.repeat(np.arange(9), [1, 1, 2, 2, 3, 3, 4, 5, 6])
NAMES = [f"table {number}" for number in range(len(FAMILIES))]
NUMBERS = [f"numbers {number}" for number in range(8)]
FACTS = pd.DataFrame(
    {
        "table": [f"cc18-{NAMES[0]}", *NAMES[1:], *NUMBERS],
        "kind": ["classes"] * len(NAMES) + ["number"] * len(NUMBERS),
        "family": [f"family {family}" for family in (*FAMILIES, *range(8))],
        "signal": [0.6, *[0.9] * (len(NAMES) + len(NUMBERS) - 1)],
        "copies": [0.0, 0.2, *[0.0] * (len(NAMES) + len(NUMBERS) - 2)],
    }
)
WORTH = {"no pre-training": 1.0, "SCARF": 1.5, "VIME": 1.5, "CatBoost": 2.0, "logistic regression": 1.0}


def made_up() -> pd.DataFrame:
    """Trials as `study.results` has them, whose AUROC rises by 4 points with each doubling of the labels."""
    random, rows = np.random.default_rng(0), []
    for dataset in (*NAMES, *NUMBERS):
        level = random.normal(60, 6)
        for labels in BUDGETS:
            for competitor, times in WORTH.items():
                of_numbers = dataset in NUMBERS
                name = "ridge regression" if of_numbers and competitor == "logistic regression" else competitor
                for trial in range(2):
                    value = (level + 4 * np.log2(labels * times / 20) + random.normal(0, 0.2)) / 100
                    row = {"dataset": dataset, "labels": f"{labels}", "competitor": name, "trial": trial}
                    if of_numbers:
                        row |= {"spearman": value, "r2": value, "rmse": 2 - value}
                    else:
                        measured = {"auroc": value, "accuracy": value, "balanced_accuracy": value}
                        row |= measured | {"log_loss": 1.2 - value, "one_class": 0.0, "n_label_classes": 2.0}
                    rows.append(row)
            if dataset in NAMES[:12] and labels == BUDGETS[0]:
                for n, times in ((20, 1.0), (200, 1.2), (2000, 1.5)):
                    value = (level + 4 * np.log2(labels * times / 20)) / 100
                    named = {"dataset": dataset, "labels": f"{labels}", "competitor": f"SCARF, pretrain.rows={n}"}
                    learnt = {"auroc": value, "log_loss": 1.2 - value, "one_class": 0.0, "n_label_classes": 2.0}
                    rows += [named | learnt | {"trial": trial} for trial in range(2)]
            if dataset in NAMES:
                constant = {"dataset": dataset, "labels": f"{labels}", "competitor": "always the commonest answer"}
                rows += [constant | {"trial": trial, "auroc": 0.5, "log_loss": 0.65} for trial in range(2)]
    rows.append({"dataset": NAMES[0], "labels": "all", "competitor": "SCARF", "trial": 0, "auroc": 0.1})
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def made() -> str:
    text, _ = page(prepared(made_up()), FACTS, n_trials=2, n_draws=300)
    return text


def lines_of(text: str, section: str) -> list[list[str]]:
    """The cells of the lines of a section's table."""
    _, _, rest = text.partition(f"## {section}\n")
    lines = [line for line in rest.partition("\n## ")[0].splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def row(text: str, section: str, begins: str) -> list[str]:
    """The cells of a table's line, by the heading of its section and its first cell."""
    (cells,) = [cells for cells in lines_of(text, section) if cells[0] == begins]
    return cells


def test_findings_come_first_and_tables_say_the_truth(made: str) -> None:
    lines = made.splitlines()
    assert lines[2].startswith("- Does SCARF raise AUROC? Yes with 20, 50, 100 and 500 labels (+2.")
    assert f"on {len(NAMES)} tables with classes, up to 2 trials each. " in made
    assert f"on {len(NUMBERS)} tables with numbers, up to 2 trials each." in made
    _, *answers = row(made, "Classes: does it help, and beside what?", "SCARF, over no pre-training")
    # Half a doubling and a little is 2.3 points.
    assert all(re.match(r"\+2\.[234]\d \(\+2\.\d\d to \+2\.\d\d\): yes$", each) for each in answers)
    _, *answers = row(made, "Classes: which pre-training?", "VIME, over SCARF")
    assert "alike" in {each.rpartition(": ")[2] for each in answers} <= {"alike", "cannot tell"}
    _, *worths = row(made, "Classes: how many labels is it worth?", "CatBoost, over no pre-training")
    assert [float(each[1:].split()[0]) for each in worths] == pytest.approx([2.0] * 4, abs=0.1)
    # Numbers have their own part, and their own linear model.
    _, *answers = row(made, "Numbers: does it help, and beside what?", "ridge regression, over no pre-training")
    assert all("cannot tell" in each for each in answers)


def test_rows_without_a_label_are_counted_on_the_tables_that_have_enough(made: str) -> None:
    section = "Classes: what are rows without a label worth?"
    found = {n: row(made, section, n) for n in ("20", "200", "2,000", "all that train")}
    assert [cells[2:] for cells in found.values()] == [["cannot tell", "12"], *[["yes", "12"]] * 3]
    gains = [float(cells[1].split()[0]) for cells in found.values()]
    assert gains == pytest.approx([0, 4 * np.log2(1.2), 4 * np.log2(1.5), 4 * np.log2(1.5)], abs=0.1)
    assert "Numbers: what are rows" not in made


def test_the_median_table_and_the_range_of_the_next_one_stand_beside_the_mean(made: str) -> None:
    assert "The median table in points of AUROC" in made
    _, *cells = row(made, "Classes: the median table, and the next one", "VIME, over no pre-training")
    for cell in cells:
        median, *ends = (float(each) for each in re.findall(r"[+-]\d+\.\d+", cell))
        assert median == pytest.approx(4 * np.log2(1.5), abs=0.15)
        assert len(ends) == 4
        assert ends[2] < ends[0] < ends[1] < ends[3], "a further table varies more than the median of all"


def test_trials_worse_than_the_class_frequencies_are_counted(made: str) -> None:
    """With 20 labels a log-loss of 1.2 - 0.6 is near the constant's, with 500 it is better on every table."""
    _, *counts = row(made, "Trials that have not learnt", "CatBoost")
    assert counts[-1] == f"0 and 0 of {2 * len(NAMES)}"


def test_the_sensitivity_leaves_out_what_it_says() -> None:
    differences = np.arange(float(len(NAMES)))
    facts = FACTS.assign(table=FACTS["table"].str.removeprefix("cc18-")).set_index("table")
    tables = Tables(tuple(NAMES), FAMILIES, differences)

    found = {name: keep(tables, facts) for name, keep in VARIANTS.items()}

    one, extremes, signal, copies = found.values()
    expected = [differences[family == FAMILIES].mean() for family in range(9)]
    assert one.differences.tolist() == pytest.approx(expected)
    assert extremes.names == tuple(NAMES[:-3])
    assert signal.names == tuple(NAMES[1:])
    assert copies.names == (NAMES[0], *NAMES[2:])
    assert set(copies.families) == set(range(8))


def test_a_pair_that_some_tables_lack_says_how_many_have_it() -> None:
    trials = made_up()
    is_lacking = trials["dataset"].isin(NUMBERS[:2]) & (trials["competitor"] == "VIME")

    text, _ = page(prepared(trials[~is_lacking]), FACTS, n_trials=2, n_draws=50)

    section = text.partition("## Numbers: does it help, and beside what?")[2].partition("## ")[0]
    assert "\n\nOn 6 of the 8 tables: VIME, over no pre-training.\n\n" in section
    assert text.count(" tables: ") == 1


def first_bullets(file: str, heading: str) -> list[str]:
    """The first list below a heading of a page."""
    _, _, rest = (ROOT / file).read_text(encoding="utf-8").partition(f"{heading}\n")
    lines = itertools.dropwhile(lambda line: not line.startswith("- "), rest.splitlines())
    return [*itertools.takewhile(lambda line: line.startswith("- "), lines)]


def test_the_first_pages_have_the_figure_and_the_three_findings_of_the_study() -> None:
    found = first_bullets("study/third_edition/page.md", "# What is pre-training worth, in labels?")
    assert len(found) == 3
    assert max(len(line.removeprefix("- ").split()) for line in found) <= LONGEST
    for page_of_site in ("README.md", "docs/index.md"):
        assert first_bullets(page_of_site, "## What we found") == found

    _, _, rest = (ROOT / "README.md").read_text(encoding="utf-8").partition("## What we found\n")
    section, _, _ = rest.partition("\n## ")
    assert section.count("<img") == 1
    text = re.sub(r"<img[^>]*>|<!--.*?-->|\]\([^)]*\)", " ", section)
    assert len(re.findall(r"\w[^\s]*", text)) <= 90


def test_what_few_labels_says_of_binning_is_on_the_page() -> None:
    text = (ROOT / "study/third_edition/page.md").read_text(encoding="utf-8")
    ahead = {}
    for name in PRETRAININGS:
        answers = list[str]()
        for kind in KINDS:
            _, *cells = row(text, f"{kind.heading}: does it help, and beside what?", f"{name}, over no pre-training")
            answers += [cell.rpartition(": ")[2] for cell in cells]
        ahead[name] = set(answers) == {"yes"}
    assert ahead == dict.fromkeys(PRETRAININGS, False) | {"binning": True}

    worths = []
    for kind in KINDS:
        _, *cells = row(text, f"{kind.heading}: how many labels is it worth?", "binning, over no pre-training")
        factors = [float(cell[1:].split()[0]) for cell in cells]
        worths.append(f"{min(factors):.2f} to {max(factors):.2f} times")
    few = " ".join((ROOT / "docs/few-labels.md").read_text(encoding="utf-8").split())
    assert f"It is worth {worths[0]} the labels of classes, and {worths[1]} those of numbers." in few


@pytest.mark.slow
def test_the_page_in_the_repository_is_the_one_that_is_made() -> None:
    where = json.loads(WHERE.read_text(encoding="utf-8"))
    text, _ = page(prepared(read(FILE)), pd.read_csv(FOLDER / "tables.csv"), where)
    assert text == (FOLDER / "page.md").read_text(encoding="utf-8")
