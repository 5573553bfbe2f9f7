"""`scarf columns` and `scarf_lightning.columns`, with tiny networks, to the page."""

import math
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import scarf_lightning
from scarf_lightning import UnfinishedError, UsageError
from scarf_lightning.cli import columns as module
from scarf_lightning.cli.columns import Asking, FoundColumns, affordable, answered, asked, of_arguments
from scarf_lightning.cli.measuring import Measuring, Trainer
from scarf_lightning.importance.competing import Competitor
from scarf_lightning.importance.kept import Kept
from scarf_lightning.verdicts.answers import ANSWERS
from tests.composing import composing_once
from tests.processes import TINY
from tests.test_vocabulary import OTHER_NAMES

QUICK = (*TINY, "finetune.max_epochs=20", "method.n_estimators=20")


def frame(n: int) -> pd.DataFrame:
    """A number that decides, a copy of it, a category, and noise."""
    random = np.random.default_rng(8)
    size = random.normal(size=n)
    kind = random.choice(["u", "v"], n)
    others = {"copy": size + 0.001 * random.normal(size=n), "kind": kind, "noise": random.normal(size=n)}
    plan = np.where(size + 0.3 * (kind == "u") > 0.1, "yes", "no")
    return pd.DataFrame({"size": size, **others, "plan": plan})


@pytest.mark.slow
def test_all_columns_are_changed_in_all_ways_and_the_page_reads_by_itself(tmp_path: Path) -> None:
    place = f"paths.results={tmp_path / 'results'}"
    found: FoundColumns = scarf_lightning.columns(
        frame(240), "plan", *QUICK, "trials=4", place, repeats=2, out=tmp_path / "page", time_limit="2h", verbose=False
    )

    verdicts, every = found.importance.frame, {"no pre-training", "SCARF", "random forest"}
    assert verdicts.groupby("way")["competitor"].unique().map(set).to_dict() == {
        "permuted": every,
        "beyond the labels": {"SCARF"},
        "left out": every,
        "left out of pre-training": {"SCARF"},
        "left out of corruption": {"SCARF"},
    }
    assert set(verdicts["columns"]) == {"size", "copy", "kind", "noise", "size + copy"}
    # Columns that stand in for each other matter together.
    its = verdicts.set_index(["way", "competitor", "columns"])["answer"]
    assert its["permuted", "random forest", "size + copy"].startswith("helps")
    assert its["left out", "random forest", "size + copy"].startswith("helps")
    assert not its["left out", "random forest", "size"].startswith("helps")
    assert set(its) <= set(ANSWERS)
    text = re.sub(r"<(style|script|svg).*?</\1>", "", found.index.read_text(encoding="utf-8"), flags=re.DOTALL)
    titles = ("Which columns matter on ", "What trained competitors use", "What training needs")
    for words in (*titles, "What pre-training needs", "These answers hold together"):
        assert words in text
    assert not OTHER_NAMES.findall(text)
    meanings = pd.read_csv(found.index.parent / "tables" / "meanings-of-columns.csv")
    assert not meanings["meaning"].isna().any()
    assert len(list((found.index.parent / "figures").glob("columns-*.svg"))) == 5


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("table") / "mine.csv"
    frame(120).to_csv(place, index=False)
    return place


@pytest.fixture(scope="module")
def question(file: Path) -> Asking:
    """A question on a small table, with four trials."""
    options = [*TINY, "method.n_estimators=5", "trials=4", "workers=1", f"paths.results={file.parent / 'results'}"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "composing", composing_once)
        return asked(file, "plan", options, groups="alike", repeats=1, time_limit="2h")


def asking(question: Asking, folder: Path, trials: int = 3, **more: Any) -> Asking:
    """The question with so many trials, whose trainings are kept in this folder."""
    competitors = [replace(each, config=replace(each.config, trials=trials)) for each in question.question.competitors]
    cells = [replace(each, config=replace(each.config, trials=trials, **more)) for each in question.measuring.cells]
    kept = Kept(replace(question.question, competitors=competitors), folder)
    return replace(question, measuring=Measuring(kept, cells), n_wanted=trials)


def quiet(sentence: str) -> None:
    """Shows no progress."""


@pytest.mark.slow
def test_time_that_is_over_leaves_columns_untried_or_the_question_unfinished(question: Asking, tmp_path: Path) -> None:
    hurried, over = asking(question, tmp_path), time.monotonic() - 7200
    with pytest.raises(UnfinishedError, match="time_limit=2h was over before all columns were permuted; a longer one"):
        answered(hurried, over, tmp_path / "page", verbose=False)
    # Ten seconds before the limit all columns are permuted already, and no other training begins.
    hurried.measuring.launch(hurried.question.permuting, math.inf, quiet)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scarf_lightning.importance.page.write_columns", lambda found, *others: tmp_path / "index.html")
        its = answered(hurried, over, tmp_path / "page", verbose=False)

    assert its.importance.ways == ["permuted", "beyond the labels"]
    # Five columns and groups, left out with three competitors and in two ways of pre-training.
    assert its.importance.n_untried == 5 * 5
    assert any("time was over" in sentence for sentence in its.advice)
    assert str(its).endswith(f"The report is {tmp_path / 'index.html'}")


@pytest.mark.slow
def test_a_stopped_question_goes_on_where_it_ended(question: Asking, tmp_path: Path) -> None:
    """Nothing is trained twice, more trials train the others alone, and workers find the same numbers."""
    first, said = asking(question, tmp_path), list[str]()
    first.measuring.launch([*first.question.permuting[:2], first.question.changing[0]], math.inf, said.append)
    assert len(said) == 3

    again = asking(question, tmp_path, trials=4)
    tasks = again.question.changing
    assert [len(again.measuring.kept.missing(task)) for task in tasks] == [1, *[4] * (len(tasks) - 1)]

    again.measuring.launch(tasks[1:2], math.inf, said.append)
    forked = asking(question, tmp_path / "other", trials=4, workers=2)
    assert forked.measuring.n_workers(tasks[1:3]) == 2
    forked.measuring.launch(tasks[1:3], math.inf, quiet)
    one, same = again.measuring.kept.read(tasks[1]), forked.measuring.kept.read(tasks[1])
    assert one is not None
    assert same is not None
    for trial, rows in one.tested[0].items():
        np.testing.assert_array_equal(same.tested[0][trial].values, rows.values)


def test_a_training_that_fails_says_why_and_is_done_the_next_time(question: Asking, tmp_path: Path) -> None:
    def fail(*arguments: object) -> None:
        raise ValueError("no luck")

    broken = asking(question, tmp_path, trials=1)
    tasks = broken.question.changing[:1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Competitor, "without", fail)
        with pytest.raises(UnfinishedError, match="no luck"):
            broken.measuring.launch(tasks, math.inf, quiet)
    broken.measuring.launch(tasks, math.inf, quiet)
    assert broken.measuring.missing(tasks) == []


def test_a_training_that_would_end_too_late_does_not_begin(question: Asking, tmp_path: Path) -> None:
    its = asking(question, tmp_path)
    tasks = its.question.changing[:4]
    # Of three trials, the second competitor needs 30 seconds and more.
    train = Trainer(its.measuring.kept, time.monotonic() + 32, [0.001, 10.0, 10.0], quiet)

    train([its.measuring.changed(task) for task in tasks])

    assert [task.competitor for task in its.measuring.missing(tasks)] == [1, 2, 2]


def test_fewer_trials_are_trained_if_all_would_take_most_of_the_time(
    question: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Measuring, "seconds_a_trial", lambda self: [10.0, 1.0, 20.0])
    long = replace(asking(question, tmp_path, trials=50), limit=600.0, time_limit="10min")

    fewer = affordable(long)

    # Two fifths of ten minutes, on one core.
    assert fewer.n_trials == int(0.4 * 600 / 31) == 7
    assert "7 of 50 trials are trained" in fewer.on_few_trials
    with pytest.raises(UsageError, match="takes about 2 min, longer than time_limit=90s; time_limit=2min "):
        affordable(replace(long, limit=90.0, time_limit="90s"))


def test_a_plan_says_the_cost(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "composing", composing_once)
    options = [*QUICK, "trials=3", "workers=2", f"paths.results={tmp_path / 'results'}", "--plan"]

    lines = of_arguments([str(file), "plan", *options])

    assert isinstance(lines, list)
    about, permuted, left_out, together = lines
    assert about.startswith("mine: 4 columns, 1 group of columns that say nearly the same, 3 competitors, and 3 trials")
    assert permuted == "All columns permuted: 3 trainings, about 10 s on one core."
    assert "at most 25 trainings, about " in left_out
    assert together.startswith("With 2 workers at most about ")
    assert not list(tmp_path.glob("results/columns/*"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mine.csv"], "Name a file and its column to predict"),
        (["repeats=0"], "repeats must be a whole number from 1, not 0."),
        (["time_limit=6s"], "Training each competitor 3 times takes about 10 s, longer than time_limit=6s"),
        (["time_limit=soon"], "time_limit must be a time such as 90s, 10min or 2h, not soon."),
        (["dataset=wdbc,diabetes"], "name one dataset"),
        (["tune=2"], "Columns are asked of cells without tune; leave it out."),
    ],
)
def test_what_cannot_be_asked_is_refused(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "composing", composing_once)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=re.escape(message)):
        of_arguments(arguments)


def test_groups_that_are_no_lists_of_columns_are_refused(question: Asking) -> None:
    with pytest.raises(UsageError, match="groups must be lists of columns, alike or None, not 'some'"):
        module._groups(question.question.competitors[0].table, "some")
