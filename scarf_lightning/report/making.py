"""From cells to a folder with a page, figures and tables."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .beside_paper import Competitor, paper_section
from .drawings import draw_all
from .figures import save
from .options import Options
from .page import GENERATOR, page
from .provenance import completeness, damage, provenance_section
from .reading import Material, Row
from .sections import Paragraph, Picture, Section, counted
from .summary import summary_section
from .tables import Table, to_csv, to_latex, to_markdown

FORMATS = {"csv": to_csv, "md": to_markdown, "tex": to_latex}


class NothingFinishedError(UsageError):
    """There is nothing to report yet."""


@dataclass(frozen=True)
class Report:
    """A report before it is written: its heading, lines under it, and sections, the summary first."""

    title: str
    about: list[str]
    sections: list[Section]

    @property
    def warnings(self) -> list[str]:
        """What is not in it, in sentences."""
        blocks = [block for section in self.sections for block in section.blocks]
        return [block.text for block in blocks if isinstance(block, Paragraph) and block.warns]


def make_report(
    material: Material,
    drawings: Sequence[dict[str, Any]],
    options: Options,
    *,
    title: str,
    paper: str | None,
    defaults: Mapping[Competitor, Row],
    left_out: Sequence[str] = (),
    command: str,
) -> Report:
    """Draw and count everything.

    Args:
        material: cells and what the store has of them.
        drawings: a sweep file's ``report``, checked by `check_drawings`.
        options: how differences are tested.
        title: of the page.
        paper: where the sweep's figure is in the paper.
        defaults: axis columns that the configuration has by default, of `published_competitors`.
        left_out: cells that the command line left out of the sweep, in sentences.
        command: that made it.

    Raises:
        NothingFinishedError: no trial is.
    """
    if material.rows.empty:
        raise NothingFinishedError(
            f"Nothing is finished yet: none of {len(material.cells)} cells has a trial; train them by `train.py` first."
        )
    about = [f"The paper: {paper}"] if paper else []
    about += [completeness(material), f"A difference counts by {options.in_words}."]
    about += left_out
    about += [damage(material.damaged)] if material.damaged else []
    diverged = int(material.rows["accuracy"].isna().sum())
    about += [f"{counted(diverged, 'trial')} diverged, and no mean counts them."] if diverged else []
    beside = paper_section(material, defaults)
    sections = [
        summary_section(material, drawings, options),
        *draw_all(material, drawings, options),
        *([beside] if beside else []),
        provenance_section(material, command, version("scarf-lightning")),
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
