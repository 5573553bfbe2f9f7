"""From cells to a folder with a page, figures and tables."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError
from .answer import answer_section
from .beside_paper import Competitor, paper_section
from .blocks import Paragraph, Picture, Section, counted
from .commands import Commands
from .drawings import Drawing, draw_all
from .options import Options
from .page import GENERATOR, page
from .provenance import completeness, damage, provenance_section
from .reading import CellResults, Row
from .style import save
from .tables import FORMATS, Table


class NothingFinishedError(UsageError):
    """There is nothing to report yet."""

    status = 1


@dataclass(frozen=True)
class Report:
    """A report before it is written: its heading, lines under the answer, and sections, the answer first."""

    title: str
    about: list[str]
    sections: list[Section]

    @property
    def answer(self) -> list[str]:
        """What the first section says in words."""
        return [block.text for block in self.sections[0].blocks if isinstance(block, Paragraph)]

    @property
    def warnings(self) -> list[str]:
        """What is not in it, in sentences."""
        blocks = [block for section in self.sections for block in section.blocks]
        return [block.text for block in blocks if isinstance(block, Paragraph) and block.warns]


def make_report(
    results: CellResults,
    drawings: Sequence[Drawing],
    options: Options,
    *,
    title: str,
    paper: str | None,
    defaults: Mapping[Competitor, Row],
    left_out: Sequence[str] = (),
    command: str,
    more_trials: Commands,
) -> Report:
    """Draw and count everything.

    Args:
        results: cells and what the store has of them.
        drawings: a sweep file's ``report``, read by `read_drawings`.
        options: the metric, and how differences are tested.
        title: of the page.
        paper: where the sweep's figure is in the paper.
        defaults: axis columns that the configuration has by default, of `published_competitors`.
        left_out: cells that the command line left out of the sweep, in sentences.
        command: that made it.
        more_trials: the command that trains more trials of a comparison.

    Raises:
        NothingFinishedError: no trial is.
        UsageError: no trial has the metric.
    """
    if results.trials.empty:
        raise NothingFinishedError(
            f"Nothing is finished yet: none of {len(results.cells)} cells has a trial; train them by `train.py` first."
        )
    if results.trials["diverged"].all():
        raise UsageError(
            f"{counted(len(results.trials), 'trial')} diverged, and there is no other; train with other settings, such "
            "as a lower learning rate."
        )
    if results.trials[options.metric].isna().all():
        raise UsageError(f"No trial has the metric {options.metric}: it is younger than these results.")
    about = [f"The paper: {paper}"] if paper else []
    about += [completeness(results), f"In win matrices a difference counts by {options.in_words}."]
    about += left_out
    about += [damage(results.damaged)] if results.damaged else []
    diverged = int(results.trials["diverged"].sum())
    about += [f"{counted(diverged, 'trial')} diverged, and no mean counts them."] if diverged else []
    beside = paper_section(results, defaults)
    sections = [
        answer_section(results, options, more_trials),
        *draw_all(results, drawings, options),
        *([beside] if beside else []),
        provenance_section(results, command),
    ]
    return Report(title, about, sections)


def write_report(report: Report, folder: Path) -> Path:
    """Write ``index.html``, ``figures/`` and ``tables/`` in place of what an earlier report left there.

    Raises:
        UsageError: the folder holds something that is no report.
    """
    index = folder / "index.html"
    if (
        folder.exists()
        and any(folder.iterdir())
        and not (index.exists() and GENERATOR in index.read_text(encoding="utf-8"))
    ):
        raise UsageError(f"{folder} holds something that is no report; name another folder by out=FOLDER.")
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
