"""One name for each answer: on all pages, in all tables of reports, in the study, and in the package's texts."""

import ast
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import scarf_lightning
from scarf_lightning.loggers import cell_view, write_views
from scarf_lightning.options.run_settings import LoggerSettings, WandbSettings
from scarf_lightning.reporting.answer import answer_sections
from scarf_lightning.reporting.blocks import Paragraph, Picture, Table
from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.reporting.comparisons import compare_all
from scarf_lightning.reporting.making import make_report, write_report
from scarf_lightning.reporting.questions import answers_of
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.reporting.sentences import VERBS, answer_with_subject
from scarf_lightning.verdicts.answers import ANSWERS
from tests.cells import finish, results_in, some_cell
from tests.loggers.wandb_files import runs
from tests.reporting.cell_results import compared

ROOT = Path(__file__).parents[1]
PACKAGE = Path(scarf_lightning.__file__).parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "study").rglob("*.md")])
OTHER_NAMES = re.compile(
    r"cannot tell yet|told apart|not told|(?<!size )\b(?:is|are|stays|it is) open\b|\bopen too\b|no answer yet|"
    r"is undecided|helps, by how much|equal/ahead/behind|\bties with\b",
    re.IGNORECASE,
)
"""Other words for an answer, which pages had or might get."""
IN_TEXTS = re.compile("cannot tell yet|told apart from")
DIALECT = {
    r"told apart|tell(?:s|ing)? apart": "we cannot tell whether",
    r"(?:(?<!nothing )is|are|also) said\b(?! that| to)": "is given",
    r"what came\b": "the results",
    r"a value a row": "an ID (every row has another value)",
    r"of (?:any of )?\d+ comparisons (?:with|is|are)\b": "the clauses one by one",
    r"owes? (?:no|a) verdict": "too few for a verdict",
    r"`make docs` makes this page": "what the page is about",
    r"leaves? no choice": "skips the comparison",
    r"are what they are": "work as in scikit-learn",
    r"take a network along": "deploy a network",
    r"may not be meant as": "may have been misread",
    r"(?:can )?do without it": "it applies to those only",
    r"goe?s? by (?!default)": "decides, depends on, splits by",
    r"columns? beside the target": "features",
    r"too few to say": "too few trials for a verdict",
    r"points of error rate": "error rate 0.88 points lower",
    r"(?:hardly|not) settle (?:it|these|this)": "cannot answer it",
    r"in the place of": "instead of",
    r"(?:rows?|columns?|lines?) (?:is|are) named(?:,| with)": "you are warned of",
}
"""Phrases of a dialect that a reader would have to learn, each with plain words."""
OWN = {"changelog.md", "CHANGELOG.md", "options.md"}
"""Pages about other things, or about what was."""


def words_of(section_blocks: list) -> list[str]:
    """All that a section shows and keeps."""
    found = []
    for block in section_blocks:
        if isinstance(block, Paragraph):
            found.append(block.text)
        elif isinstance(block, Picture):
            found += [block.alt, block.caption]
        elif isinstance(block, Table):
            found += [block.caption, *block.columns, *(entry.text for row in block.rows for entry in row)]
    return found


def test_pages_and_texts_have_no_other_name_for_an_answer() -> None:
    pages = {str(page): page.read_text(encoding="utf-8") for page in PAGES if page.name not in OWN}
    assert {name: found for name, text in pages.items() if (found := OTHER_NAMES.findall(text))} == {}
    found = []
    for path in [*(PACKAGE / "reporting").rglob("*.py"), *(ROOT / "study").rglob("*.py")]:
        source = path.read_text(encoding="utf-8")
        nodes = ast.walk(ast.parse(source)) if IN_TEXTS.search(source) else ()
        texts = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
        found += [(path.name, each) for text in texts for each in IN_TEXTS.findall(text)]
    assert not found


def phrases(text: str) -> list[str]:
    """The phrases of the dialect in a text, across its line ends."""
    flat = " ".join(text.split())
    return [
        found[0] for phrase in DIALECT for found in re.finditer(rf"\b{phrase}" if phrase[0].isalpha() else phrase, flat)
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SCARF is not told\n apart from it", ["told apart"]),
        ("two are left out: a value a row", ["a value a row"]),
        ("cannot tell of any of 3 comparisons with zscore scaling", ["of any of 3 comparisons with"]),
        ("pages of 5 comparisons, each with its interval", []),
        ("goes by default to results/", []),
    ],
)
def test_a_phrase_is_found_where_it_is_one(text: str, found: list[str]) -> None:
    assert phrases(text) == found


def test_pages_and_messages_are_in_plain_words() -> None:
    pages = {page.name: page.read_text(encoding="utf-8") for page in PAGES if page.name not in OWN}
    assert {name: found for name, text in pages.items() if (found := phrases(text))} == {}
    of_messages = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        texts = "\n".join(messages(ast.parse(path.read_text(encoding="utf-8"))))
        if found := phrases(texts):
            of_messages[str(path.relative_to(PACKAGE))] = found
    assert of_messages == {}


def messages(tree: ast.AST) -> list[str]:
    """The texts of a module that are no docstrings; what is filled into one is left out of it."""
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [str(node.value) for node in texts if id(node) not in documents]


def with_every_answer(tables: int) -> CellResults:
    """Results with every answer."""
    low, spread = [0.50, 0.51, 0.49, 0.51] * 3, [0.4, 0.6, 0.5, 0.7] * 3
    gains = {"scarf": 0.3, "scarf_ae": -0.3, "no_noise_ae": 0.0001, "add_noise_ae": 0.012}
    values = {"none": low}
    for name, gain in gains.items():
        noise = 0.006 if name == "add_noise_ae" else 0.0005
        values[name] = [value + gain + noise * (-1) ** place for place, value in enumerate(low)]
    values["scarf_disc"] = spread
    return compared({f"t{n}": values for n in range(tables)})


@pytest.mark.parametrize("tables", [1, 8])
def test_a_report_names_answers_by_their_names_alone(tables: int) -> None:
    sections = answer_sections(answers_of(with_every_answer(tables), ReportOptions()))
    blocks = [block for section in sections for block in section.blocks]
    summary = next(block for block in blocks if isinstance(block, Table))
    assert isinstance(summary.data, pd.DataFrame)
    shown = {row[1].text for row in summary.rows}

    assert shown <= {*ANSWERS, "reference"}
    assert len(shown) >= 4, "several answers are among them"
    for column in ("answer", "answer_alone"):
        assert set(summary.data[column].dropna()) <= {*ANSWERS, "reference"}
    assert not [text for text in words_of(blocks) if OTHER_NAMES.search(text)]


def test_each_answer_is_told_by_its_name() -> None:
    (some,) = compare_all(compared({"iris": {"none": [0.5, 0.6], "scarf": [0.6, 0.7]}}), ReportOptions())
    for answer in ANSWERS:
        sentence = answer_with_subject(replace(some, claimed=answer))
        assert answer in sentence or answer.replace("no ", "makes no ", 1) in sentence
    assert set(VERBS) == set(ANSWERS) - {"cannot tell"}


@pytest.mark.slow
def test_no_file_of_a_report_and_no_run_of_wandb_has_another_name_for_an_answer(tmp_path: Path) -> None:
    """Pages, CSV files, and all that W&B is given of them and of a cell."""
    report = make_report(with_every_answer(1), [], ReportOptions(), title="t", command="")
    folder = tmp_path / "report"
    write_report(report, folder)
    cell = finish(some_cell(trials=3, paths=results_in(tmp_path)))
    results = tmp_path / "results"
    view = cell_view(cell.fingerprint, results, group="all answers")
    assert write_views(view, results, LoggerSettings(wandb=WandbSettings(write=True))) == []

    files = [path for path in folder.rglob("*") if path.suffix in {".csv", ".html"}]
    logged = [path for path in (results / "wandb").rglob("*") if path.suffix in {".json", ".html"}]
    of_answers = pd.read_csv(folder / "tables" / "summary.csv")
    assert set(of_answers["answer"]) <= {*ANSWERS, "reference"}
    assert of_answers["answer"].nunique() >= 4
    for path in (*files, *logged):
        assert not OTHER_NAMES.findall(path.read_text(encoding="utf-8")), path.name
    for run in runs(results):
        assert not OTHER_NAMES.findall(f"{run.name} {run.group} {run.tags} {run.config} {run.notes} {run.summary}")
