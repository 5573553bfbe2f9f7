"""The page as a whole: its parts and links, what it says at the top and at the end, and refusals."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from itertools import product
from pathlib import Path

import pandas as pd
import pytest

import scarf_lightning
from scarf_lightning.errors import UsageError
from scarf_lightning.metrics import metrics
from scarf_lightning.reporting import answers, cell_results
from scarf_lightning.reporting.answers import Answers
from scarf_lightning.reporting.blocks import Paragraph, Section
from scarf_lightning.reporting.cell_results import CellResults, cells_of_folder, read_results
from scarf_lightning.reporting.drawings import Drawing
from scarf_lightning.reporting.making import (
    NothingFinishedError,
    Report,
    default_drawings,
    make_report,
    write_report,
)
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.results import Stored, loading, read_cell
from scarf_lightning.screen import escaped
from tests.reporting.cell_results import HOSTILE, a_cell, compared, results_of
from tests.reporting.store import fill_store

NONE = Answers(compared({"iris": {"none": [0.5]}}), ReportOptions(), [])


class Elements(HTMLParser):
    """The elements of a page with their attributes, its text, and tags left open."""

    VOID = ("meta", "link", "img", "input")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def attributes(self, tag: str, name: str) -> list[str]:
        return [attributes[name] or "" for found, attributes in self.found if found == tag and name in attributes]


def report_of(
    results: CellResults, drawings: Sequence[Drawing], *, title: str = "A title", sections: Sequence[Section] = ()
) -> Report:
    return make_report(
        results,
        drawings,
        ReportOptions(),
        title=title,
        paper="Table 1",
        sections=sections,
        command="python report.py",
    )


def hostile_report(folder: Path) -> Report:
    """A report of a store whose dataset has a hostile name, with one of its drawings of each kind but predictions."""
    results = read_results(cells_of_folder(folder / "results")[0])
    drawings = {each.name: each for each in default_drawings(results) if each.name != "confusion_matrix"}
    return report_of(results, list(drawings.values()), title=HOSTILE)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    fill_store(folder / "results", datasets=1, trials=3, pretrains=("none", "scarf"), names={6: HOSTILE})
    write_report(hostile_report(folder), folder / "report")
    return folder / "report"


@pytest.fixture(scope="module")
def page(written: Path) -> Elements:
    return Elements((written / "index.html").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_page_is_whole_and_shows_every_figure_and_file(written: Path, page: Elements) -> None:
    assert page.open == []
    images = [attributes for tag, attributes in page.found if tag == "img"]
    assert len(images) == len(list((written / "figures").glob("*.svg"))) >= 3
    assert all(len(image["alt"] or "") > 20 for image in images)
    # A hostile name is nothing but text.
    assert [tag for tag, _ in page.found].count("script") == 1
    assert any(escaped(HOSTILE) in text for text in page.text)
    on_disk = {path.relative_to(written).as_posix() for path in written.glob("*/*")}
    assert sorted(page.attributes("a", "href")) == sorted(on_disk)


def test_nothing_is_fetched_from_anywhere(written: Path, page: Elements) -> None:
    html = (written / "index.html").read_text(encoding="utf-8")

    (policy,) = [content for content in page.attributes("meta", "content") if "default-src" in content]
    assert policy == "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    assert not re.search(r"https?://|@import|url\((?!#)", html)
    assert all(source.startswith("data:image/svg+xml;base64,") for source in page.attributes("img", "src"))
    assert page.attributes("script", "src") == []


def test_it_ends_with_where_it_comes_from(written: Path, page: Elements) -> None:
    text = " ".join(page.text)

    cells = pd.read_csv(written / "tables" / "cells.csv")
    assert sorted(cells["fingerprint"]) == sorted(path.parent.name for path in written.parent.glob("*/*/cell.json"))
    assert re.search(r"Made by SCARF-Lightning \d+\.\d+\.\d+\S* on \d+ \w+ \d{4}.*: python report\.py", text)
    environment = json.loads(next(written.parent.glob("results/*/stacks/*/environment.json")).read_text())
    assert environment["packages"]["torch"] in text


def test_a_page_of_four_cells_is_short(tmp_path: Path) -> None:
    values = [0.8, 0.82, 0.81, 0.79, 0.8, 0.83, 0.81, 0.8, 0.82, 0.8]
    settings = product(("zscore", "minmax"), ("mean", "marginal"))
    results = results_of([a_cell(values, pretrain="scarf", scaling=s, corruption=c) for s, c in settings])

    index = write_report(report_of(results, []), tmp_path / "page")

    html = re.sub(r"<(style|script)>.*?</\1>", "", index.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(" ".join(Elements(html).text).split()) < 250


def test_a_half_finished_sweep_and_damage_are_said_at_the_top() -> None:
    values = {"iris": {"none": [0.5, 0.6], "scarf": [0.7, float("nan")]}, "wine": {"none": [0.5, 0.6], "scarf": []}}
    report = report_of(compared(values), [])
    assert report.about[1] == (
        "2 of 4 cells are finished, 5 of 8 trials; missing: dataset=iris, pretrain=scarf (1 of 2 trials); "
        "dataset=wine, pretrain=scarf (0 of 2 trials)."
    )

    results = compared({"iris": {"none": [0.5, 0.6], "scarf": [0.6, 0.7]}})
    results.damaged[Path("results/ab/stacks/0000")] = "trials.json is torn"
    report = report_of(results, [])
    assert "1 damaged record left out: results/ab/stacks/0000: trials.json is torn." in report.about


def diverged(results: CellResults, *places: tuple[int, int]) -> CellResults:
    """The same, of which these trials of cells diverged."""
    trials = results.trials.copy()
    gone = pd.MultiIndex.from_frame(trials[["cell", "trial"]]).isin(places)
    trials["diverged"] |= gone
    trials.loc[gone, [metric.name for metric in metrics()]] = float("nan")
    return replace(results, trials=trials)


def test_diverged_trials_are_counted_in_a_sentence_and_in_no_number() -> None:
    results = diverged(compared({"iris": {"none": [0.5, 0.6, 0.7], "scarf": [0.6, 0.7, 0.9]}}), (1, 2))

    report = report_of(results, [])

    assert "1 trial diverged and is in no mean." in report.about
    effects = report.tables["effects"].data.set_index("what")
    assert effects.loc["pretrain=scarf", "accuracy"] == pytest.approx(0.65)
    assert report.tables["cells"].data["diverged"].tolist() == [0, 1]


def test_where_every_trial_diverged_or_nothing_is_finished_there_is_no_report() -> None:
    results = compared({"iris": {"none": [0.5, 0.6], "scarf": [0.7]}})
    results = diverged(results, (0, 0), (0, 1), (1, 0))
    with pytest.raises(UsageError, match=r"^All 3 trials diverged; train with other settings, "):
        report_of(results, [])
    nothing = results_of([a_cell([float("nan")])])
    with pytest.raises(NothingFinishedError, match=r"^Nothing is finished yet: none of 1 cell has a trial; ") as caught:
        report_of(nothing, [])
    assert caught.value.status == 1


def small(title: str) -> Report:
    return Report(title, [], [Section("summary", "The answer", [Paragraph("No.")])], NONE)


@pytest.mark.parametrize("name", ["notes.txt", "index.html"])
def test_a_folder_of_other_files_is_left_alone(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(UsageError, match=r"holds files that are not a report; name another folder with out=FOLDER"):
        write_report(small("new"), tmp_path)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_a_report_in_the_place_of_another_removes_nothing(written: Path, tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "report", tmp_path / "precious.csv"
    shutil.copytree(written, folder)
    (folder / "figures" / "mine.svg").write_text("mine")
    elsewhere.write_text("mine")
    (folder / "tables" / "cells.csv").unlink()
    (folder / "tables" / "cells.csv").symlink_to(elsewhere)
    before = set(folder.glob("**/*"))

    index = write_report(report_of(compared({"iris": {"none": [0.5]}}), []), folder)

    assert "<h1>A title</h1>" in index.read_text(encoding="utf-8")
    assert before <= set(folder.glob("**/*"))
    assert not (folder / "tables" / "cells.csv").is_symlink()
    assert elsewhere.read_text() == "mine"


@pytest.mark.parametrize("name", ["figures", "tables"])
def test_nothing_is_written_through_a_linked_folder(name: str, tmp_path: Path) -> None:
    write_report(small("t"), tmp_path / "report")
    (tmp_path / "docs").mkdir()
    (tmp_path / "report" / name).symlink_to(tmp_path / "docs")

    with pytest.raises(UsageError, match=rf"report/{name} is a link, and is not written through; remove it"):
        write_report(small("t"), tmp_path / "report")
    assert list((tmp_path / "docs").iterdir()) == []


def test_a_report_reads_each_cell_once_and_remembers_one_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "results"
    fill_store(store, datasets=1, trials=4, pretrains=("none", "scarf", "scarf_ae"), keeps_predictions=True)
    reads: Counter[str] = Counter()
    writes = []

    def counted(cell: Path, *, hashes: bool = False) -> Stored:
        reads[cell.name] += 1
        return read_cell(cell, hashes=hashes)

    for module in (loading, cell_results):
        monkeypatch.setattr(module, "read_cell", counted)
    monkeypatch.setattr(answers, "keep_looks", lambda folder, looks: writes.append(looks) or True)

    scarf_lightning.report(results=store, out=tmp_path / "page")

    assert list(reads.values()) == [1, 1, 1]
    assert len(writes) == 1
