"""A table of a report in a notebook."""

from xml.etree import ElementTree

import pandas as pd

from scarf_lightning.reporting.blocks import table
from tests.reporting.cell_results import HOSTILE


def test_a_table_is_shown_with_its_caption_and_texts_of_a_user_are_texts_alone() -> None:
    shown = table("levels", f"Levels & {HOSTILE}", pd.DataFrame({"name": [HOSTILE], "mean": [0.5]}), {"mean": ".2f"})

    html = shown._repr_html_()  # type: ignore[operator]

    page = ElementTree.fromstring(f"<div>{html}</div>")
    assert "".join(next(page.iter("p")).itertext()) == f"Levels & {HOSTILE}"
    rows = [["".join(cell.itertext()) for cell in row] for row in page.iter("tr")]
    assert rows == [["name", "mean"], [HOSTILE, "0.50"]]
