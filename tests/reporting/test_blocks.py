"""Tables as CSV, Markdown and LaTeX: what is shown, and what a hostile name may not do."""

import io
from pathlib import Path

import pandas as pd
import pytest

from scarf_lightning.reporting.blocks import (
    Entry,
    Table,
    entry,
    latex,
    number,
    table,
    to_csv,
    to_latex,
)
from tests.programs import compiled
from tests.reporting.cell_results import HOSTILE

PREAMBLE = r"\documentclass{article}\usepackage{booktabs,graphicx,longtable}\begin{document}"

DATA = pd.DataFrame({"competitor": ["scarf_ae", "none"], "mean_rank": [1.23456, None], "best_on": [3, 0]})


def test_a_frame_is_shown_a_column_a_column_and_csv_holds_it_in_full() -> None:
    made = table("ranks", "Mean ranks", DATA, formats={"mean_rank": ".2f"}, headings={"best_on": "best on, datasets"})

    assert made.columns == ("competitor", "mean rank", "best on, datasets")
    assert [[entry.text for entry in row] for row in made.rows] == [["scarf_ae", "1.23", "3"], ["none", "–", "0"]]
    assert [[entry.sort for entry in row] for row in made.rows] == [["scarf_ae", 1.23456, 3.0], ["none", None, 0.0]]
    assert made.numeric == {1, 2}
    assert made.numeric is made.numeric, "a page asks each entry once"
    pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(to_csv(made))), DATA)
    for missing in (None, float("nan"), pd.NA):
        assert entry(missing, ".2f") == Entry("–", None)
    assert [entry(value).text for value in (True, False)] == ["yes", "no"]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_a_spreadsheet_runs_nothing_in_csv(start: str) -> None:
    name = f'{start}HYPERLINK("file:///etc/passwd")'
    data = pd.DataFrame({name: [name, "b"], "value": [-1.5, None]})

    read = pd.read_csv(io.StringIO(to_csv(table("t", "", data))))

    shown = name.replace("\r", r"\r")
    assert list(read.columns) == [f"'{shown}", "value"]
    assert read.iloc[:, 0].tolist() == [f"'{shown}", "b"]
    assert read["value"].tolist()[0] == -1.5
    assert data.columns[0] == name, "the table is left alone"


def test_latex_has_the_rules_of_booktabs_and_bold_bests() -> None:
    rows = ((Entry("d_1", "d_1"), Entry("95.61 ± 0.52", 95.61, best=True), Entry("−1", -1.0)),)

    text = to_latex(Table("accuracy", "In %", ("dataset", "a & b", "c"), rows, DATA))

    assert [rule for rule in ("\\toprule", "\\midrule", "\\bottomrule") if text.count(rule) != 1] == []
    assert r"\begin{tabular}{lrr}" in text
    assert r"\caption{In \%}" in text
    assert r"dataset & a \& b & c \\" in text
    assert r"d\_1 & \textbf{95.61 $\pm$ 0.52} & $-$1 \\" in text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a_b", r"a\_b"),
        ("$x^2$", r"\$x\textasciicircum{}2\$"),
        (r"C:\new", r"C:\textbackslash{}new"),
        ("{~}#&", r"\{\textasciitilde{}\}\#\&"),
        ("<|>", "$<$$|$$>$"),
        ("10–20 −3", "10--20 $-$3"),
    ],
)
def test_latex_sees_nothing_but_text(text: str, escaped: str) -> None:
    assert latex(text) == escaped


def test_a_long_latex_table_goes_on_from_page_to_page(tmp_path: Path) -> None:
    text = to_latex(table("long", "In %", pd.DataFrame({"a number": range(100)})))

    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") == 1
    assert "Output written on t.pdf" in compiled([PREAMBLE, text, r"\end{document}"], tmp_path)


def test_a_hostile_name_breaks_no_table(tmp_path: Path) -> None:
    made = table("t", HOSTILE, pd.DataFrame({HOSTILE: [HOSTILE], "value": [1]}))

    body = [line for line in to_latex(made).splitlines() if line.endswith(r"\\")]
    assert [line.replace(r"\&", "").count("&") for line in body] == [1, 1]
    assert all(line.count("{") - line.count(r"\{") == line.count("}") - line.count(r"\}") for line in body)
    # Control characters are written out in every format.
    control = table("t", "", pd.DataFrame({"dataset": ["\x1b[31m\x00"]}))
    assert r"\x1b[31m\x00" in to_csv(control)
    assert r"\textbackslash{}x1b[31m\textbackslash{}x00" in to_latex(control)
    # LaTeX compiles it.
    name = HOSTILE.replace("\u2028", " ")
    text = to_latex(table("t", name, pd.DataFrame({"name, ±": [name], "value": [-1]})))
    assert "Output written on t.pdf" in compiled([PREAMBLE, text, r"\end{document}"], tmp_path)


@pytest.mark.parametrize(
    ("value", "format", "text"),
    [
        (-0.5, "+.2f", "−0.50"),
        (0.5, "+.2f", "+0.50"),
        (-0.001, "+.2f", "+0.00"),
        (8.2e-05, ".2g", "8.2e-05"),
        (3, "", "3"),
    ],
)
def test_numbers_have_a_minus_sign_and_no_negative_zero(value: float, format: str, text: str) -> None:
    assert number(value, format) == text
