"""The page on columns: its sections, and the sentences that say what holds together."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.importance.asking import Asked, ask
from scarf_lightning.importance.judging import Importance
from scarf_lightning.importance.page import columns_report, together, way_blocks, write_columns
from scarf_lightning.report.blocks import Picture, Table
from tests.importance.answers import Known

LOSSES = {
    (way, name, ("size",)): 0.3
    for way, name in (("permuted", "no pre-training"), ("permuted", "SCARF"), ("left out", "SCARF"))
}


@pytest.fixture(scope="module")
def answered() -> tuple[Known, Asked]:
    """The measurements and the answers of a question that nobody changes."""
    known = Known.of(LOSSES)
    return known, ask(known, known.launch)


def of_ways(asked: Asked, *ways: str) -> Importance:
    """The verdicts of these ways alone."""
    return replace(asked.importance, verdicts=[each for each in asked.importance.verdicts if each.way in ways])


def test_a_section_for_each_way_and_the_answer_first(answered: tuple[Known, Asked]) -> None:
    known, asked = answered

    page = columns_report(asked, known.question.competitors)

    table = known.question.competitors[0].table
    commonest = 100 * max(np.mean(table.labels == 0), np.mean(table.labels == 1))
    level = 100 * np.mean([rows.values.mean() for rows in known._tested(0.0).values()])
    ways = ["permuted", "beyond-the-labels", "left-out", "left-out-of-pre-training", "left-out-of-corruption"]
    assert [section.name for section in page.sections] == ["summary", *ways, "groups"]
    assert page.title == "Which columns matter on mine?"
    assert "SCARF: it uses size." in page.answer
    assert page.about == [
        "mine: 3 columns, 600 rows with labels.",
        "accuracy on the test rows of 6 trials, the same rows with every column.",
        f"With all columns, accuracy: no pre-training {level:.2f}, SCARF {level:.2f}; always the commonest class "
        f"{commonest:.2f}.",
    ]
    # The correction counts twelve verdicts on permuted columns and groups, and four units in four ways.
    said = together(asked.importance)
    assert "Holm's correction over 28 comparisons, those that were not tried among them" in said
    assert "among them" not in together(replace(asked.importance, n_untried=0))


def test_a_page_that_cannot_advise_says_so() -> None:
    known = Known.of({})
    found = ask(known, known.launch)
    # Pictures cost most of the time, and those of one way are enough.
    nothing = replace(found, settled=[], importance=of_ways(found, "permuted"))

    page = columns_report(nothing, known.question.competitors)

    assert page.answer[0] == "We cannot tell enough about any column to give advice."
    competitor = known.question.competitors[0]
    rare = replace(competitor.table, labels=np.where(np.arange(600) < 30, 0, 1))
    page = columns_report(nothing, [replace(competitor, table=rare)])
    assert page.answer[0].startswith("No competitor is better than always the commonest class, so that no column")
    assert "SCARF: it uses none that we can tell." in page.answer


def test_the_table_of_a_way_has_every_verdict(answered: tuple[Known, Asked]) -> None:
    picture, table = way_blocks(answered[1].importance, "left out", "mine")

    assert isinstance(picture, Picture)
    assert "size, SCARF: +" in picture.alt
    assert isinstance(table, Table)
    assert table.name == "mine-importance"
    assert [row[0].text for row in table.rows] == ["size", "size"]
    assert [row[2].text for row in table.rows] == ["helps", "no practical difference"]


@pytest.mark.slow
def test_the_page_is_written_with_the_table_of_each_way(answered: tuple[Known, Asked], tmp_path: Path) -> None:
    known, asked = answered
    short = replace(asked, importance=of_ways(asked, "permuted", "left out"))

    index = write_columns(short, known.question.competitors, tmp_path / "page")

    kept = pd.read_csv(index.parent / "tables" / "left-out-importance.csv")
    assert list(kept["competitor"]) == ["SCARF", "no pre-training"]
