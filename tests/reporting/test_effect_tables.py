"""The textbook ablation: one change at a time beside the base."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scarf_lightning.reporting.answers import answers_of
from scarf_lightning.reporting.blocks import to_latex
from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.reporting.report_options import ReportOptions
from tests.programs import compiled
from tests.reporting.cell_results import a_cell, results_of
from tests.reporting.shown import answer_of, entries, said, table_named

BASE = {"pretrain": "scarf", "corruption": "marginal", "scaling": "zscore"}
CHANGES: list[dict[str, Any]] = [{}, {"corruption": "mean"}, {"scaling": "minmax"}]
NAME = "pretrain=scarf, corruption=marginal, scaling=zscore"
NOISE = np.random.default_rng(0).normal(0, 0.002, (4, 10))


def star(*changes: dict[str, Any]) -> CellResults:
    """Cells that differ from the base in these columns, each ten points worse than the one before it."""
    cells = []
    for place, change in enumerate(changes):
        cells.append(a_cell((0.9 - 0.1 * place + NOISE[place]).tolist(), **BASE | change))
    return results_of(cells)


FOUR = star(*CHANGES, {"pretrain": "none", "corruption": None})


def test_each_change_is_answered_beside_the_base_pre_training_among_them() -> None:
    base, *changes = said(answer_of(FOUR))[:4]

    assert base.startswith("Base: pretrain=scarf, corruption=marginal, scaling=zscore, accuracy ")
    assert [each.partition(": ")[2].split(",")[0] for each in changes] == [
        "corruption=mean hurts", "scaling=minmax hurts", "pretrain=none hurts",
    ]  # fmt: skip


def test_the_table_has_a_line_a_change_by_its_difference_and_one_of_the_base() -> None:
    table = table_named(answer_of(FOUR), "ablation")
    base, *changes = table.data["what"].tolist()

    assert (base, changes) == (NAME, ["corruption=mean", "scaling=minmax", "pretrain=none"])
    assert table.data["difference"].tolist()[1:] == pytest.approx([-0.1, -0.2, -0.3], abs=0.003)
    assert (table.data["low"] < table.data["difference"]).tolist()[1:] == [True] * 3
    assert [row[0] for row in entries(table)] == table.data["what"].tolist()
    assert entries(table)[0][-2:] == ["–", "reference"]


def test_in_latex_sure_answers_are_bold_and_it_fits_a_column(tmp_path: Path) -> None:
    text = to_latex(table_named(answer_of(FOUR), "ablation"))
    even = results_of([(row, [0.9, 0.91, 0.89]) for row in star(*CHANGES).rows.values()])
    document = [
        r"\documentclass[twocolumn]{article}\usepackage{booktabs,graphicx}\begin{document}",
        text,
        r"\end{document}",
    ]

    assert r"\toprule" in text
    assert text.count(r"\textbf{hurts}") == 3
    assert r"\textbf" not in to_latex(table_named(answer_of(even), "ablation"))
    assert "Overfull" not in compiled(document, tmp_path)


def test_another_reference_is_no_base() -> None:
    assert not answers_of(FOUR, ReportOptions(reference="corruption=mean")).is_star
    assert answers_of(FOUR, ReportOptions(reference=NAME)).is_star
