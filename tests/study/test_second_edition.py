"""The page of the second edition: its numbers from a subset by hand, and again by the lines of pandas that it shows."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from paper.published import published_accuracy
from scarf_lightning.errors import UsageError
from study.results import COLUMNS, NONE, SCARF, read
from study.second_edition import page as pages
from study.second_edition.comparisons import (
    ACCURACY,
    AUROC,
    BEST,
    COMPETITORS,
    EXTREMES,
    LINEAR,
    MEASURES,
    NETWORKS,
    REALMLP,
    RMSE,
    best_network,
    broken_rows,
    compare,
    confirming,
    levels,
    prepared,
    renamed,
    sanity,
)
from tests.composing import ROOT
from tests.documentation import blocks_of

CLASSES, NUMBERS, TRIALS = 26, 7, 3
BUDGETS = ("20", "50")


@pytest.fixture
def trials() -> pd.DataFrame:
    """Tables of classes and of numbers, all competitors, two budgets, three trials, with random scores."""
    random = np.random.default_rng(0)
    shared = {
        "n_test": 200,
        "n_train": 700,
        "n_labelled": 20,
        "categorical_share": 0.25,
        "columns": 9,
        "one_class": False,
    }
    rows = []
    for table in range(CLASSES + NUMBERS):
        is_number = table >= CLASSES
        facts = {"dataset": f"table-{table:02}", "rows": 600 + 10 * table, "classes": 0 if is_number else 2 + table % 3}
        facts |= {"columns": 5 + table % 7, "categorical_share": table % 5 / 4}
        facts |= {"dataset_id": None if table % 2 else table, "n_label_classes": None if is_number else 2}
        for labels in BUDGETS:
            for place, name in enumerate(COMPETITORS):
                name = ("ridge" if is_number else "logistic") + " regression" if name == LINEAR else name
                for trial in range(TRIALS):
                    scores = random.uniform(0.4, 0.9, 4) + place / 100
                    values = (
                        {"rmse": 9 * scores[0], "spearman": scores[1], "r2": scores[2] - 0.6}
                        if is_number
                        else dict(zip(("accuracy", "auroc", "log_loss", "balanced_accuracy"), scores, strict=True))
                    )
                    row = shared | facts | {"labels": labels, "competitor": name, "trial": trial} | values
                    rows.append(row | {"pretrain_seconds": 2.0, "finetune_seconds": 0.5})
    frame = pd.DataFrame(rows).reindex(columns=COLUMNS)
    return frame.astype({"dataset_id": "Int64", "n_label_classes": "Int64", "one_class": "boolean"})


def with_gains(trials: pd.DataFrame, gains: dict[str, float], metric: str = "accuracy") -> pd.DataFrame:
    """Trials at 20 labels in which SCARF is better than no pre-training on each table by just so much."""
    wanted = trials[trials["dataset"].isin(gains) & (trials["labels"] == "20")]
    reference = wanted[wanted["competitor"] == NONE]
    scarf = reference.assign(competitor=SCARF)
    scarf[metric] += scarf["dataset"].map(gains)
    return pd.concat([reference, scarf])


def test_a_comparison_by_hand(trials: pd.DataFrame) -> None:
    """Gains of −1, 0, ... 18 points on twenty tables, half of which are of CC18."""
    gains = {f"table-{table:02}": (table - 1) / 100 for table in range(20)}
    (found,) = compare(with_gains(trials, gains), ACCURACY, SCARF, NONE, BUDGETS)

    assert (found.median.mean, found.mean.mean) == pytest.approx((8.5, 8.5))
    assert np.isnan(found.mean.low)
    np.testing.assert_allclose(found.gains, np.arange(-1, 19), atol=1e-9)
    assert (found.verdict.won, found.verdict.lost) == (18, 1)
    assert (found.labels, found.claimed) == ("20", "helps")
    # One of twenty-one equally likely places lies below the smallest, and one above the largest.
    assert found.expected == pytest.approx((-1, 18))

    without = compare(with_gains(trials, gains), ACCURACY, SCARF, NONE, BUDGETS, extremes=3)[0]
    assert (max(without.gains), len(without.gains), without.expected) == (pytest.approx(15), 17, None)
    assert confirming(trials) == [f"table-{table:02}" for table in range(0, CLASSES + NUMBERS, 2)]
    rest = compare(with_gains(trials, gains), ACCURACY, SCARF, NONE, BUDGETS, without=confirming(trials))[0]
    assert rest.tables == tuple(f"table-{table:02}" for table in range(1, 20, 2))
    # Five tables are too few for an answer.
    few = with_gains(trials, dict.fromkeys(list(gains)[:5], 0.1))
    assert compare(few, ACCURACY, SCARF, NONE, BUDGETS) == []


def test_a_loss_that_falls_is_a_gain_in_percent_of_the_reference(trials: pd.DataFrame) -> None:
    numbers = trials[trials["classes"] == 0].assign(rmse=10.0)
    tables = sorted(numbers["dataset"].unique())
    found = compare(with_gains(numbers, dict.fromkeys(tables, -0.5), "rmse"), RMSE, SCARF, NONE, BUDGETS)[0]
    assert found.gains.tolist() == pytest.approx([5.0] * NUMBERS)
    assert found.median.mean == pytest.approx(5.0)


def test_no_table_chooses_its_own_best_network(trials: pd.DataFrame) -> None:
    """VIME is the best on each table but the first, on which SCARF is; and it is chosen on the first one."""
    lead = {"VIME": 0.5, SCARF: 0.3}
    known = trials[(trials["labels"] == "20") & (trials["classes"] > 0)]
    known = known.assign(accuracy=known["competitor"].map(lead).fillna(0.1))
    is_first = known["dataset"] == "table-00"
    known.loc[is_first & (known["competitor"] == SCARF), "accuracy"] = 0.9

    best = best_network(known)

    assert set(best["competitor"]) == {BEST}
    assert best.groupby("dataset")["accuracy"].first().to_dict() == dict.fromkeys(known["dataset"].unique(), 0.5)


def test_a_row_that_predicts_one_class_is_compared_with_nothing(trials: pd.DataFrame) -> None:
    is_vime = (trials["competitor"] == "VIME") & (trials["labels"] == "20")
    trials.loc[is_vime & (trials["trial"] == 0), "one_class"] = True
    assert broken_rows(trials) == [("VIME", "20")]
    assert sanity(trials).loc["VIME", ["trials", "one_class"]].tolist() == [CLASSES * TRIALS * 2, CLASSES]

    kept = prepared(trials)
    assert [each.labels for each in compare(kept, ACCURACY, "VIME", NONE, BUDGETS)] == ["50"]
    # Where the labels themselves are of one class, it says nothing of a network.
    trials.loc[trials["one_class"], "n_label_classes"] = 1
    assert broken_rows(trials) == []


def test_means_are_over_tables_with_every_competitor(trials: pd.DataFrame) -> None:
    lacking = trials[~((trials["dataset"] == "table-03") & (trials["competitor"] == "SubTab"))]
    means, n_tables = levels(prepared(lacking), ACCURACY)
    assert n_tables == CLASSES - 1
    known = trials[(trials["competitor"] == NONE) & (trials["labels"] == "20") & (trials["dataset"] != "table-03")]
    assert means.loc[NONE, "20"] == pytest.approx(100 * known["accuracy"].mean())
    assert list(means.index) == list(COMPETITORS)


@pytest.mark.slow
def test_the_advice_says_what_labels_add_and_which_pretraining_is_fast(trials: pd.DataFrame) -> None:
    """Ten points more with 50 labels; all pre-trainings are alike but SubTab, and VIME is the fastest of these."""
    known = trials[trials["classes"] > 0]
    scores = known["labels"].map({"20": 0.5, "50": 0.6}) + (known["competitor"] == "SubTab") * 0.1
    seconds = known["competitor"].map({"SubTab": 0.5, "VIME": 1.0}).fillna(2.0)
    even = prepared(known.assign(accuracy=scores, pretrain_seconds=seconds))

    found = pages.findings(even)

    assert "Label more rows, if you can: 50 labels in place of 20 add 10.0 points of accuracy to the mean" in found
    assert (
        "pre-train with VIME, which takes least time of these, expect +0.0 (+0.0 to +0.0) points on the median table"
    ) in found
    assert found.count(".\n") == 2
    parts = [
        even[even["competitor"] == SCARF].assign(competitor=f"{SCARF}, {part}")
        for part in ("views=both", "corruption=mean")
    ]
    told = pages.findings(pd.concat([even, *parts]))
    both = "SCARF with `corruption=mean` or `views=both`"
    assert f"SCARF, paper's recipe and {both} make no practical difference to SCARF.\n" in told
    alike = "SCARF at rate 0.3, VIME, SCARF AE, binning, target-aware pre-training and SCARF, paper's recipe"
    assert f"{alike} make no practical difference to SCARF.\n" in found


NUMBER = re.compile(r"[+−-]?\d[\d,]*(?:\.\d+)?")


def numbers_of(text: str) -> list[float]:
    return [float(each.replace("−", "-").replace(",", "")) for each in NUMBER.findall(text)]


def tables_of(text: str) -> list[tuple[str, list[list[str]]]]:
    """The tables of a page: the caption, and the entries of each row, headings first."""
    found = []
    for caption, block in re.findall(r"^(.+)\n\n((?:^\|.*\n)+)", text, flags=re.M):
        # Markdown's escapes are no part of the words.
        rows = block.replace("\\", "").splitlines()
        lines = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in rows]
        found.append((caption, [lines[0], *lines[2:]]))
    return found


def recomputed(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names that the lines of pandas of a page define, run in a folder."""
    (block,) = [each for each in blocks_of(page) if each.language == "python"]
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    exec(block.code, names)
    return names


METRICS = {measure.label: measure.name for measure in MEASURES}


def metric_of(caption: str) -> str:
    """The column of the metric that a caption names."""
    return METRICS[max((label for label in METRICS if label in caption), key=len)]


def expected_of(caption: str, entry: dict[str, str], names: dict[str, Any]) -> list[tuple[str, list[float]]]:
    """The entries of a row of the page, each with the numbers that the lines of pandas make."""
    row, gains, tables = names["row"], names["gains"], names["tables"]
    # The columns of budgets, as "20 labels", and their numbers of labels.
    budgets = {key: key.removesuffix(" labels") for key in entry if key.endswith(" labels")}
    if caption.startswith("Gain of"):
        competitor, reference = caption.removeprefix("Gain of ").rstrip(".").split(" over ")
        made = row(gains(METRICS[entry["metric"]], competitor, reference, entry["labels"]))
        return [(" ".join(list(entry.values())[3:]), made)]
    if caption.startswith("Mean"):
        means = tables.mean()[metric_of(caption)]
        scale = 100 if "percent" in caption else 1
        return [(entry[key], [scale * means[labels, entry["competitor"]]]) for key, labels in budgets.items()]
    if caption.startswith("Trials of classes"):
        learnt = names["learnt"]
        of_it = learnt[learnt.competitor == entry["competitor"]]
        above = of_it[of_it.labels == "20"].groupby("dataset").above_guesses.mean().mean()
        made = [len(of_it), of_it.one_class.sum(), 100 * of_it.one_class.mean(), 100 * above]
        return [(" ".join(list(entry.values())[1:]), made)]
    if caption.startswith("Tables of numbers"):
        counts = (tables.r2 > 0).sum()
        return [(entry[key], [counts[labels, entry["competitor"]]]) for key, labels in budgets.items()]
    if caption.startswith("Spearman"):
        correlations, its_levels = names["correlations"](entry["labels"])
        pairs = [(entry["mean of both scores"], [correlations["both"]])]
        for heading, fact in FACTS.items():
            shown, level = entry[heading].split(" (p ")
            pairs.append((shown, [correlations[fact]]))
            # A level below the smallest that three decimals show is shown as below it.
            if "=" in level:
                np.testing.assert_allclose(numbers_of(level), its_levels[fact], atol=0.000501)
            else:
                assert its_levels[fact] < 0.001
        return pairs
    pairs = []
    for heading, cell in entry.items():
        labels = entry.get("labels", heading.removesuffix(" labels"))
        if heading not in ("competitor", "over", "labels") and cell != "–":
            without = confirmed(names) if heading == "without CC18" else ()
            of_tables = gains(metric_of(caption), entry["competitor"], entry["over"], labels, without)
            if heading == f"without the {EXTREMES} largest":
                of_tables = of_tables[np.argsort(-abs(of_tables), kind="stable")[EXTREMES:]]
            pairs.append((cell, names["median"](of_tables)))
    return pairs


FACTS = {
    "rows": "rows",
    "columns": "columns",
    "share of categories": "categorical_share",
    "classes": "classes",
    "score without pre-training": "accuracy",
}


def check_by_pandas(text: str, names: dict[str, Any]) -> int:
    """Compare every number of the page's tables with the lines of pandas; return how many there are."""
    compared = 0
    for caption, (heading, *rows) in tables_of(text):
        for row in rows:
            for shown, made in expected_of(caption, dict(zip(heading, row, strict=True)), names):
                # Half a unit of the last digit that is shown.
                np.testing.assert_allclose(numbers_of(shown), made, atol=0.0501, err_msg=f"{caption} {row}")
                compared += len(made)
    return compared + check_sentences(text, names)


def check_sentences(text: str, names: dict[str, Any]) -> int:
    """Compare the numbers of the page's sentences with the lines of pandas; return how many there are."""
    every, once = names["every"], names["once"]
    facts = every.groupby("dataset").classes.first()
    whole = every[every.competitor.isin(COMPETITORS)]
    n_trials = whole.groupby(["dataset", "labels", "competitor"]).size()
    numbers = [whole.competitor.nunique(), *sorted({n_trials.min(), n_trials.max()})]
    if len(whole) < len(every):
        numbers.append(every.competitor.nunique() - numbers[0])
    budgets = sorted(every.labels.unique(), key=int)
    extent = [len(facts), (facts > 0).sum(), (facts == 0).sum(), *budgets, *numbers]

    means = names["tables"].accuracy.mean()
    added = 100 * (means[budgets[1], NONE] - means[budgets[0], NONE])
    ours = [name for name in NETWORKS if "paper" not in name]
    learnt = names["learnt"][names["learnt"].competitor.isin(ours)]
    phases = np.array([once.pretrain_seconds.sum(), every.finetune_seconds.sum()]) / 3600
    seconds = once.groupby("competitor").pretrain_seconds.mean()
    seconds = seconds[seconds.index.isin(NETWORKS)].dropna()
    sentences = {
        r"^\d+ tables, .* trials": [*extent, len(every)],
        r"^- \*\*What to do:.*? points of accuracy": [budgets[1], budgets[0], added],
        r"(?<=RealMLP, ).* % predict one class": [100 * learnt.one_class.mean()],
        r"^The trials took .* supervised training": [phases.sum(), *phases],
    }
    for sentence, made in sentences.items():
        (shown,) = re.findall(sentence, text, flags=re.M)
        np.testing.assert_allclose(numbers_of(shown), np.float64(made), atol=0.0501, err_msg=shown)
    for name, value in seconds.items():
        (shown,) = re.findall(rf"([\d.]+) \({re.escape(name)}\)", text)
        assert float(shown) == pytest.approx(value, abs=0.0501)
    return sum(map(len, sentences.values())) + len(seconds) + check_findings(text, names)


OF_FINDINGS = {
    "by number of labels, in accuracy: ": (ACCURACY.name, SCARF, NONE),
    "; on RealMLP: ": (ACCURACY.name, f"{REALMLP} with {SCARF}", REALMLP),
    "; in AUROC: ": (AUROC.name, SCARF, NONE),
    "accuracy, over a linear model: ": (ACCURACY.name, BEST, LINEAR),
    "; over CatBoost: ": (ACCURACY.name, BEST, "CatBoost"),
    "confirmed its recipe: ": (ACCURACY.name, BEST, LINEAR),
}
"""Where the gains of a pair stand among the findings."""


def check_findings(text: str, names: dict[str, Any]) -> int:
    """Compare the median gains among the findings with the lines of pandas; return how many there are."""
    compared = 0
    for opening, pair in OF_FINDINGS.items():
        _, _, clause = text.partition(opening)
        told = re.findall(r"with ([^(]+) \(([^)]+)\)", re.split(r"[;.] |\.\n", clause)[0])
        without = confirmed(names) if opening.startswith("confirmed") else ()
        for budgets, shown in told:
            of_budgets = [names["median"](names["gains"](*pair, n, without))[0] for n in re.findall(r"\d+", budgets)]
            np.testing.assert_allclose(numbers_of(shown), of_budgets, atol=0.0501, err_msg=opening)
            compared += len(of_budgets)
    return compared


def confirmed(names: dict[str, Any]) -> list[str]:
    """The tables of CC18, which confirmed the recipe."""
    every = names["every"]
    return list(every[every.dataset_id.notna()].dataset.unique())


@pytest.mark.slow
def test_forty_lines_of_pandas_make_every_number_of_the_tables(
    trials: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "study/second_edition/trials.parquet"
    file.parent.mkdir(parents=True)
    trials.to_parquet(file)
    text, figures = pages.page(read(file))
    (tmp_path / "page.md").write_text(text)

    assert list(figures) == ["learning-curves", "gains"]
    assert check_by_pandas(text, recomputed(tmp_path / "page.md", tmp_path, monkeypatch)) > 800
    lines = [line for line in pages.text_of("recompute.py").splitlines() if line and "import " not in line]
    assert len(lines) <= 40


@pytest.mark.slow
def test_the_page_in_the_repository_is_the_one_that_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another processor may round the last digit of a number otherwise."""
    kept, (made, _) = pages.text_of("page.md"), pages.page(read(pages.TRIALS))
    assert NUMBER.sub("#", kept) == NUMBER.sub("#", made)
    np.testing.assert_allclose(numbers_of(kept), numbers_of(made), atol=0.11)
    names = recomputed(pages.FOLDER / "page.md", ROOT, monkeypatch)
    assert check_by_pandas(kept, names) > 800
    assert check_findings(kept, names) == 4 * len(OF_FINDINGS)
    # What the limits say of the data.
    rows, limits = names["every"].rows, pages.text_of("texts/limits.md")
    assert f"Tables of {rows.min():,} to {rows.max():,} rows." in limits
    assert "All labels were planned and are not run" in limits
    assert "all" not in set(names["every"].labels)
    nats = -np.log(np.finfo(np.float64).eps)
    assert f"{nats:.0f} nats" in limits
    # The README and the site's first page say the same.
    for place in pages.PLACES:
        shown = place.read_text(encoding="utf-8")
        assert pages.with_findings(shown, kept.split("\n\n")[1]) == shown


def test_findings_stand_between_their_comments() -> None:
    text = f"before\n{pages.START}\nold\n{pages.END}\nafter"
    assert pages.with_findings(text, "**new**") == f"before\n{pages.START}\n**new**\n{pages.END}\nafter"
    with pytest.raises(UsageError, match="has no place for the findings"):
        pages.with_findings(f"before {pages.START} after", "new")


def test_what_related_work_says_of_the_papers_tables_is_in_them() -> None:
    published = published_accuracy()
    shown = " ".join(pages.text_of("texts/related.md").split())
    gains, n_behind = [], 0
    for regime in ("full", "semi25"):
        columns = published[published["regime"] == regime].pivot_table("accuracy", "dataset_id", ["pretrain", "method"])
        scarf = columns["scarf", "control"]
        gains.append(100 * (scarf / columns["none", "control"] - 1))
        n_behind = (columns["none", "xgboost"] > scarf).sum()

    means, medians = ([getattr(each, kind)() for each in gains] for kind in ("mean", "median"))
    expected = "we compute {:.1f} % and {:.1f} % (medians {:.1f} % and {:.1f} %)".format(*means, *medians)
    assert f"Over all {len(gains[0])} rows of its tables {expected}" in shown
    assert f"we count {n_behind} of the 69 on which default XGBoost is more accurate" in shown


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["results=here"], r"^The options are also=FILE, with trials of yours, and out=FILE\.md\.$"),
        (["also=mine.parquet"], r"^Name another file for the page with trials of yours: out=FILE\.md\.$"),
    ],
)
def test_what_cannot_be_done_is_refused(arguments: list[str], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        pages.main(arguments)


def test_the_page_says_on_how_many_tables_parts_are_exchanged(trials: pd.DataFrame) -> None:
    assert pages.extent_of_parts(prepared(trials)) == ""
    exchanged = trials[trials["competitor"].eq(SCARF) & (trials["dataset"] < "table-10") & (trials["trial"] < 2)]
    both = [exchanged.assign(competitor=f"{SCARF}, {part}") for part in ("views=both", "corruption=mean")]
    extent = "the others on {} of classes in 2 trials of each."
    assert pages.extent_of_parts(pd.concat(both)).endswith(extent.format("10 tables"))
    both[0] = both[0][both[0]["dataset"] < "table-08"]
    assert pages.extent_of_parts(pd.concat(both)).endswith(extent.format("8 to 10 tables"))


def test_switchtab_stands_beside_subtab(trials: pd.DataFrame) -> None:
    """On all tables of classes with 20 labels, always two points better; the best network is of the study."""
    assert pages.first_round(prepared(trials), BUDGETS) == []
    subtab = trials[(trials["competitor"] == "SubTab") & (trials["labels"] == "20") & (trials["classes"] > 0)]
    switchtab = subtab.assign(competitor="SwitchTab", accuracy=subtab["accuracy"] + 0.02)
    both = pd.concat([trials, switchtab], ignore_index=True)

    _, sentence, table = pages.first_round(prepared(both), BUDGETS)

    assert sentence.endswith("SwitchTab was compared with it on 26 tables of classes in 3 trials of each.")
    assert "| SwitchTab | SubTab | +2.0 (+2.0 to +2.0), helps |" in table
    assert pages.beside(prepared(both), BUDGETS) == []
    assert "17 competitors in 3 trials of each, and 1 more on some of the tables:" in pages.extent(renamed(both))


def test_a_competitor_of_ones_own_stands_beside_no_pretraining_and_scarf(trials: pd.DataFrame) -> None:
    """On six tables, which are the fewest that get an answer; and it takes none from the means."""
    few = trials[(trials["dataset"] < "table-06") & (trials["competitor"] == SCARF) & (trials["labels"] == "20")]
    mine = few.assign(competitor="SCARF, corruption=median", accuracy=few["accuracy"] + 0.03)
    both = prepared(pd.concat([trials, mine], ignore_index=True))

    heading, table = pages.beside(both, BUDGETS)

    assert heading == "## Your own competitors"
    assert "| SCARF, corruption=median | SCARF | +3.0 (+3.0 to +3.0), helps |" in table
    assert pages.beside(prepared(trials), BUDGETS) == []
    assert levels(both, ACCURACY)[1] == CLASSES
