"""HTML for notebooks."""

from xml.etree import ElementTree

from scarf_lightning.notebook import grid, paragraph
from scarf_lightning.reporting.blocks import Table, table
from tests.reporting.cell_results import HOSTILE


def parsed(html: str) -> ElementTree.Element:
    """The elements of a piece of a page, which must be well-formed."""
    return ElementTree.fromstring(f"<div>{html}</div>")


def texts(html: str) -> list[list[str]]:
    """The texts of a table, a list a row."""
    return [["".join(cell.itertext()) for cell in row] for row in parsed(html).iter("tr")]


def test_a_grid_has_headings_and_rows_and_its_numbers_at_the_right() -> None:
    html = grid(["name", "mean"], [["SCARF", "0.80"], ["none", "0.79"]], numeric=frozenset({1}))

    assert texts(html) == [["name", "mean"], ["SCARF", "0.80"], ["none", "0.79"]]
    sides = [cell.get("style") for cell in parsed(html).iter("td")]
    assert sides == ["text-align: left", "text-align: right"] * 2


def test_texts_of_a_user_are_texts_alone() -> None:
    for html in (paragraph(HOSTILE), grid([HOSTILE], [[HOSTILE]])):
        assert "<script" not in html
        assert HOSTILE in "".join(parsed(html).itertext())


def test_a_table_of_a_report_is_shown_with_its_caption() -> None:
    import pandas as pd

    shown: Table = table("levels", "Levels & more", pd.DataFrame({"name": ["a"], "mean": [0.5]}), {"mean": ".2f"})

    html = shown._repr_html_()

    assert "".join(next(parsed(html).iter("p")).itertext()) == "Levels & more"
    assert texts(html) == [["name", "mean"], ["a", "0.50"]]
