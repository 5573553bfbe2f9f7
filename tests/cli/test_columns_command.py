"""`scarf columns` and `scarf_lightning.columns`, with tiny networks, to the page."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import scarf_lightning
from scarf_lightning import UsageError
from scarf_lightning.cli.columns import FoundColumns, of_arguments
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


def test_without_time_only_permutations_are_tried_and_the_rest_counts(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    frame(120).to_csv(file, index=False)
    place = f"paths.results={tmp_path / 'results'}"

    hurried = of_arguments(
        [str(file), "plan", *QUICK, "trials=3", place, "time_limit=0s", "repeats=1", f"out={tmp_path / 'page'}"]
    )

    its = hurried.importance
    assert its.ways == ["permuted", "beyond the labels"]
    # Five columns and groups, left out with three competitors and in two ways of pre-training.
    assert its.n_untried == 5 * 5
    assert any("time was over" in sentence for sentence in hurried.advice)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mine.csv"], "Name a file and its column to predict"),
        (["repeats=0"], "repeats must be a whole number from 1, not 0."),
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
