"""One name for each answer: on all pages, in all tables of reports, in the study, and in the package's texts."""

import ast
import re
from pathlib import Path

import pandas as pd
import pytest

import scarf_lightning
from scarf_lightning.report.advice import by_sweep
from scarf_lightning.report.answer import answer_section
from scarf_lightning.report.blocks import Command, Paragraph, Picture, Table
from scarf_lightning.report.report_options import ReportOptions
from scarf_lightning.report.sentences import VERBS, told
from scarf_lightning.report.statistics.answers import ANSWERS
from tests.report.cell_results import compared

ROOT = Path(__file__).parents[1]
PACKAGE = Path(scarf_lightning.__file__).parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "study").glob("*.md")])
OTHER_NAMES = re.compile(
    r"cannot tell yet|told apart|not told|(?<!size )\b(?:is|are|stays|it is) open\b|\bopen too\b|no answer yet|"
    r"is undecided|helps, by how much|equal/ahead/behind|\bties with\b",
    re.IGNORECASE,
)
"""Other words for an answer, which pages had or might get."""
OWN = {"changelog.md", "CHANGELOG.md", "options.md"}
"""Pages about other things, or about what was."""


def words_of(section_blocks: list) -> list[str]:
    """All that a section shows and keeps."""
    found = []
    for block in section_blocks:
        if isinstance(block, Paragraph):
            found.append(block.text)
        elif isinstance(block, Command):
            found.append(block.purpose)
        elif isinstance(block, Picture):
            found += [block.alt, block.caption]
        elif isinstance(block, Table):
            found += [block.caption, *block.columns, *(entry.text for row in block.rows for entry in row)]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_have_no_other_name_for_an_answer(page: Path) -> None:
    if page.name in OWN:
        return
    found = OTHER_NAMES.findall(page.read_text(encoding="utf-8"))
    assert not found


def test_texts_of_the_package_and_the_study_have_no_other_name_for_an_answer() -> None:
    found = []
    for path in [*PACKAGE.rglob("*.py"), *(ROOT / "study").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "report" in path.parts:
                found += [(path.name, each) for each in re.findall(r"cannot tell yet|told apart from", node.value)]
    assert not found


def some_reports() -> list[tuple[str, list]]:
    """Sections on results with every answer."""
    low, spread = [0.50, 0.51, 0.49, 0.51] * 3, [0.4, 0.6, 0.5, 0.7] * 3
    gains = {"scarf": 0.3, "scarf_ae": -0.3, "no_noise_ae": 0.0001, "add_noise_ae": 0.012}
    values = {"none": low}
    for name, gain in gains.items():
        noise = 0.006 if name == "add_noise_ae" else 0.0005
        values[name] = [value + gain + noise * (-1) ** place for place, value in enumerate(low)]
    values["scarf_disc"] = spread
    found = []
    for tables in (1, 8):
        results = compared({f"t{n}": values for n in range(tables)})
        found.append((f"{tables} tables", answer_section(results, ReportOptions(), by_sweep([])).blocks))
    return found


@pytest.mark.parametrize(("name", "blocks"), some_reports())
def test_a_report_names_answers_by_their_names_alone(name: str, blocks: list) -> None:
    summary = next(block for block in blocks if isinstance(block, Table))
    assert isinstance(summary.data, pd.DataFrame)
    shown = {row[1].text for row in summary.rows}

    assert shown <= {*ANSWERS, "reference"}
    assert len(shown) >= 4, "several answers are among them"
    for column in ("answer", "answer_alone"):
        assert set(summary.data[column].dropna()) <= {*ANSWERS, "reference"}
    assert not [text for text in words_of(blocks) if OTHER_NAMES.search(text)]


def test_each_answer_is_told_by_its_name() -> None:
    for answer in ANSWERS:
        sentence = told("SCARF", answer)
        assert answer in sentence or answer.replace("no ", "makes no ", 1) in sentence
    assert set(VERBS) == set(ANSWERS) - {"cannot tell"}
