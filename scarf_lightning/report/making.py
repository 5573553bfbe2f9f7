"""From the cells of a report to a folder with a page, figures and tables."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment
from markupsafe import Markup

from ..errors import UsageError, counted
from ..screen import escaped
from .advice import Commands
from .answer import answer_section
from .blocks import FORMATS, Command, Paragraph, Picture, Section, Table
from .drawings import Drawing, draw_all
from .loading import CellResults, Row
from .provenance import completeness, damage, of_another_kind, provenance_section
from .report_options import ReportOptions
from .sentences import in_one_line
from .style import as_inline, as_svg, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RowOf = Callable[[Sequence[str]], Row]
"""The axis columns of the cell that overrides such as ``["pretrain=scarf"]`` ask for."""
MakeSection = Callable[[CellResults, RowOf], Section | None]
"""A function that adds a section to the page, or None if these results give it nothing to show."""
GENERATOR = "SCARF-Lightning report"
"""Marks a page as a report, which a later report may replace."""
LONG_TABLE = 12
"""Tables with more rows get a filter."""


class NothingFinishedError(UsageError):
    """There is nothing to report yet."""

    status = 1


@dataclass(frozen=True)
class Report:
    """A report before it is written: its title, the lines under the answer, and its sections, the answer first."""

    title: str
    about: list[str]
    sections: list[Section]

    @property
    def answer(self) -> list[str]:
        """The sentences of the first section."""
        said = [block for block in self.sections[0].blocks if isinstance(block, Paragraph | Command)]
        return [in_one_line((b.purpose, b.command)) if isinstance(b, Command) else b.text for b in said]

    @property
    def warnings(self) -> list[str]:
        """Sentences on what could not be shown."""
        blocks = [block for section in self.sections for block in section.blocks]
        return [block.text for block in blocks if isinstance(block, Paragraph) and block.warns]


def make_report(
    results: CellResults,
    drawings: Sequence[Drawing],
    options: ReportOptions,
    *,
    title: str,
    paper: str | None,
    left_out: Sequence[str] = (),
    command: str,
    more_trials: Commands,
    sections: Sequence[Section] = (),
) -> Report:
    """Draw and count everything. The ``drawings`` are of a sweep file; ``paper`` says where the paper shows them, and
    ``left_out`` which cells the command line left out. More ``sections`` follow the drawings.

    Raises:
        NothingFinishedError: no trial is finished.
        UsageError: no trial has the metric.
    """
    if results.trials.empty:
        raise NothingFinishedError(
            f"Nothing is finished yet: none of {len(results.cells)} cells has a trial; train them by `train.py` first."
        )
    if results.trials["diverged"].all():
        raise UsageError(
            f"All {counted(len(results.trials), 'trial')} diverged; train with other settings, such as a lower "
            "learning rate."
        )
    options = options.of(results)
    if results.trials[options.measure.name].isna().all():
        raise UsageError(f"No trial has the metric {options.measure.name}; these results were made before it existed.")
    about = [f"The paper: {paper}"] if paper else []
    about += [completeness(results), f"Win matrices count a difference by {options.in_words}."]
    about += [said] if (said := of_another_kind(results, options.measure)) else []
    about += left_out
    about += [damage(results.damaged)] if results.damaged else []
    diverged = int(results.trials["diverged"].sum())
    about += [f"{counted(diverged, 'trial')} diverged and {'is' if diverged == 1 else 'are'} in no mean."] * (
        diverged > 0
    )
    made = [
        answer_section(results, options, more_trials),
        *draw_all(results, drawings, options),
        *sections,
        provenance_section(results, command),
    ]
    return Report(title, about, made)


def write_report(report: Report, folder: Path) -> Path:
    """Write ``index.html``, ``figures/`` and ``tables/``, replacing an earlier report.

    Raises:
        UsageError: the folder holds files that are not a report.
    """
    index = folder / "index.html"
    if (
        folder.exists()
        and any(folder.iterdir())
        and not (index.exists() and GENERATOR in index.read_text(encoding="utf-8"))
    ):
        raise UsageError(f"{folder} holds files that are not a report; name another folder with out=FOLDER.")
    for name in ("figures", "tables"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
    for section in report.sections:
        for block in section.blocks:
            if isinstance(block, Picture):
                save(block.figure, folder / "figures", block.name)
            elif isinstance(block, Table):
                for ending, write in FORMATS.items():
                    (folder / "tables" / f"{block.name}.{ending}").write_text(write(block), encoding="utf-8")
    index.write_text(page(report.title, report.about, report.sections, folder), encoding="utf-8")
    return index


def page(title: str, about: Sequence[str], sections: Sequence[Section], folder: Path) -> str:
    """One HTML page that needs no other file: it embeds the figures in the folder's ``figures/`` and links to
    ``tables/``."""

    def drawn(name: str) -> Markup:
        return Markup(as_inline((folder / "figures" / f"{name}.svg").read_text(encoding="utf-8")))

    def narrow(figure: "Figure") -> Markup:
        return Markup(as_inline(as_svg(figure)))

    template = Environment(autoescape=True).from_string(_shipped("page.html"))
    page = template.render(
        generator=GENERATOR,
        long_table=LONG_TABLE,
        title=title,
        about=about,
        sections=sections,
        drawn=drawn,
        narrow=narrow,
        style=Markup(_shipped("page.css")),
        script=Markup(_shipped("page.js")),
    )
    return escaped(page)


def _shipped(name: str) -> str:
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")
