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
from scarf_lightning.cli.columns import Asking, FoundColumns, affordable, answered, asked, of_arguments
from scarf_lightning.cli.measuring import Measuring, Trainer
from scarf_lightning.importance.competing import Competitor
from scarf_lightning.report.statistics.answers import ANSWERS
from tests.processes import TINY
from tests.test_vocabulary import OTHER_NAMES

QUICK = (*TINY, "finetune.max_epochs=20", "method.n_estimators=20", "trials=4")


def frame(n: int = 240) -> pd.DataFrame:
    """A number that decides, a copy of it, a category, and noise."""
    random = np.random.default_rng(8)
    size = random.normal(size=n)
    its = pd.DataFrame(
        {
            "size": size,
            "copy": size + 0.001 * random.normal(size=n),
            "kind": random.choice(["u", "v"], n),
            "noise": random.normal(size=n),
        }
    )
    return its.assign(plan=np.where(size + 0.3 * (its["kind"] == "u") > 0.1, "yes", "no"))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> FoundColumns:
    folder = tmp_path_factory.mktemp("columns")
    place = f"paths.results={folder / 'results'}"
    return scarf_lightning.columns(
        frame(), "plan", *QUICK, place, repeats=2, out=folder / "page", time_limit="2h", verbose=False
    )


def test_all_ways_are_tried_with_all_competitors(found: FoundColumns) -> None:
    by_way = found.importance.frame.groupby("way")["competitor"].unique().map(set).to_dict()

    every = {"no pre-training", "SCARF", "random forest"}
    assert by_way == {
        "permuted": every,
        "beyond the labels": {"SCARF"},
        "left out": every,
        "left out of pre-training": {"SCARF"},
        "left out of corruption": {"SCARF"},
    }
    assert set(found.importance.frame["columns"]) == {"size", "copy", "kind", "noise", "size + copy"}


def test_columns_that_stand_in_for_each_other_matter_together(found: FoundColumns) -> None:
    its = found.importance.frame.set_index(["way", "competitor", "columns"])["answer"]

    assert its["permuted", "random forest", "size + copy"].startswith("helps")
    assert its["left out", "random forest", "size + copy"].startswith("helps")
    assert not its["left out", "random forest", "size"].startswith("helps")
    assert set(its) <= set(ANSWERS)


def test_the_page_reads_by_itself(found: FoundColumns) -> None:
    text = re.sub(r"<(style|script|svg).*?</\1>", "", found.index.read_text(encoding="utf-8"), flags=re.DOTALL)

    assert "Which columns matter on " in text
    for heading in ("What trained competitors use", "What training needs", "What pre-training needs"):
        assert heading in text
    assert "These answers hold together" in text
    assert not OTHER_NAMES.findall(text)
    meanings = pd.read_csv(found.index.parent / "tables" / "meanings-of-columns.csv")
    assert not meanings["meaning"].isna().any()
    assert len(list((found.index.parent / "figures").glob("columns-*.svg"))) == 5


def asking(folder: Path, *overrides: str, time_limit: str = "2h") -> Asking:
    """A question on a smaller table, in a folder of its own."""
    file = folder / "mine.csv"
    frame(120).to_csv(file, index=False)
    place = f"paths.results={folder / 'results'}"
    options = [*QUICK, "trials=3", "workers=1", place, *overrides]
    return asked(file, "plan", options, groups="alike", repeats=1, time_limit=time_limit)


def test_without_time_only_permutations_are_tried_and_the_rest_counts(tmp_path: Path) -> None:
    hurried = asking(tmp_path)
    # Ten seconds before the limit all columns are permuted already, and no other training begins.
    hurried.measuring.launch(hurried.question.permuting, math.inf, lambda sentence: None)

    its = answered(hurried, time.monotonic() - 7200, tmp_path / "page", verbose=False)

    assert its.importance.ways == ["permuted", "beyond the labels"]
    # Five columns and groups, left out with three competitors and in two ways of pre-training.
    assert its.importance.n_untried == 5 * 5
    assert any("time was over" in sentence for sentence in its.advice)


def test_time_that_is_over_before_the_columns_are_permuted_is_unfinished(tmp_path: Path) -> None:
    with pytest.raises(UnfinishedError, match="time_limit=2h was over before all columns were permuted; a longer one"):
        answered(asking(tmp_path), time.monotonic() - 7200, tmp_path / "page", verbose=False)


def test_a_stopped_question_goes_on_where_it_ended(tmp_path: Path) -> None:
    """Nothing is trained twice, more trials train the others alone, and workers find the same numbers."""
    first = asking(tmp_path)
    said: list[str] = []
    first.measuring.launch([*first.question.permuting, *first.question.changing[:2]], math.inf, said.append)
    assert len(said) == 5

    again = asking(tmp_path, "trials=4")
    n_missing = [len(again.measuring.kept.missing(task)) for task in again.question.changing]
    assert n_missing == [1, 1, *[4] * (len(n_missing) - 2)]

    task = again.question.changing[2]
    again.measuring.launch([task], math.inf, said.append)
    other = tmp_path / "other"
    other.mkdir()
    forked = asking(other, "trials=4", "workers=2")
    two = forked.question.changing[2:4]
    assert forked.measuring.n_workers(two) == 2
    forked.measuring.launch(two, math.inf, lambda sentence: None)
    one, same = again.measuring.kept.read(task), forked.measuring.kept.read(task)
    assert one is not None
    assert same is not None
    for trial, rows in one.tested[0].items():
        np.testing.assert_array_equal(same.tested[0][trial].values, rows.values)


def test_a_training_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise ValueError("no luck")

    broken = asking(tmp_path)
    monkeypatch.setattr(Competitor, "without", fail)

    with pytest.raises(UnfinishedError, match="no luck"):
        broken.measuring.launch(broken.question.changing[:1], math.inf, lambda sentence: None)
    monkeypatch.undo()
    broken.measuring.launch(broken.question.changing[:1], math.inf, lambda sentence: None)
    assert broken.measuring.missing(broken.question.changing[:1]) == []


def test_a_training_that_would_end_too_late_does_not_begin(tmp_path: Path) -> None:
    its = asking(tmp_path)
    tasks = its.question.changing[:4]
    # Of three trials, the second competitor needs 30 seconds and more.
    train = Trainer(its.measuring.kept, time.monotonic() + 32, [0.001, 10.0, 10.0], lambda sentence: None)

    train([its.measuring.changed(task) for task in tasks])

    assert [task.competitor for task in its.measuring.missing(tasks)] == [1, 2, 2]


def test_fewer_trials_are_trained_if_all_would_take_most_of_the_time(tmp_path: Path) -> None:
    pace = [10.0, 1.0, 20.0]
    long = asking(tmp_path, "trials=50", time_limit="10min")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Measuring, "seconds_a_trial", lambda self: pace)
        fewer = affordable(long)
        # Two fifths of ten minutes, on one core.
        assert fewer.n_trials == int(0.4 * 600 / 31) == 7
        assert "7 of 50 trials are trained" in fewer.on_few_trials
        with pytest.raises(UsageError, match="takes about 2 min, longer than time_limit=90s; time_limit=2min "):
            affordable(replace(long, limit=90.0, time_limit="90s"))


def test_a_plan_says_the_cost(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    frame(120).to_csv(file, index=False)
    options = [str(file), "plan", *QUICK, "trials=3", "workers=2", f"paths.results={tmp_path / 'results'}", "--plan"]

    lines = of_arguments(options)

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
    ],
)
def test_what_cannot_be_asked_is_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        of_arguments(arguments)


def test_groups_are_lists_of_columns() -> None:
    options: dict[str, Any] = {"groups": "some", "verbose": False}
    with pytest.raises(UsageError, match="groups must be lists of columns, alike or None"):
        scarf_lightning.columns(None, None, **options)
