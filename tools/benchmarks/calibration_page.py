"""The figures of docs/calibration.json and the tables of docs/calibration.md, which are made from them.

python -m tools.benchmarks.calibration_page      the tables again, from the figures that are there
"""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from scarf_lightning.intervals import Interval
from scarf_lightning.verdicts import Verdict
from scarf_lightning.verdicts.answers import HELPING, HURTING, MARGIN

DOCS = Path(__file__).parents[2] / "docs"
FILE, PAGE = DOCS / "calibration.json", DOCS / "calibration.md"
NOTHING = "–"


@dataclass
class Line:
    """One line of the table: counts of what happened."""

    what: str
    section: str = ""
    truth: float | None = None
    draws: int = 0
    false: int = 0
    direction: int = 0
    helps: int = 0
    covered: int = 0
    intervals: int = 0
    total_width: float = 0.0

    def count(self, verdict: Verdict, answer: str, truth: float) -> None:
        """Count a verdict whose answer may have been corrected."""
        self.draws += 1
        self.false += is_false(answer, truth)
        self.direction += answer in (HELPING if truth > 0 else HURTING)
        self.helps += answer == ("helps" if truth > 0 else "hurts")
        self.count_interval(verdict.interval, truth)

    def count_interval(self, interval: Interval, truth: float) -> None:
        """Count an interval, if there is one."""
        if not math.isnan(interval.low):
            self.intervals += 1
            self.covered += interval.low <= truth <= interval.high
            self.total_width += interval.high - interval.low


def is_false(answer: str, truth: float, margin: float = MARGIN) -> bool:
    """True if an answer contradicts the truth.

    >>> is_false("helps", 0.005), is_false("helps, size open", 0.005), is_false("no practical difference", 0.005)
    (True, False, False)
    """
    if answer in HELPING:
        return truth <= (margin if answer == "helps" else 0.0)
    if answer in HURTING:
        return truth >= (-margin if answer == "hurts" else 0.0)
    return answer == "no practical difference" and abs(truth) > margin


@dataclass(frozen=True)
class Figures:
    """All that the page shows.

    Attributes:
        draws: of a line of simulated tables.
        tables: that were drawn for a line of real tables.
        simulated, real: lines.
    """

    draws: int = 0
    tables: int = 0
    simulated: Sequence[Line] = ()
    real: Sequence[Line] = ()


def read(file: Path = FILE) -> Figures:
    """The figures of the last run."""
    its = json.loads(file.read_text(encoding="utf-8"))
    for kind in ("simulated", "real"):
        its[kind] = [Line(**each) for each in its[kind]]
    return Figures(**its)


def write(figures: Figures) -> None:
    """Write the figures, a line each, and the page."""
    lines = [f'"draws": {figures.draws}', f'"tables": {figures.tables}']
    for kind, each in (("simulated", figures.simulated), ("real", figures.real)):
        records = ",\n".join(json.dumps(asdict(line)) for line in each)
        lines.append(f'"{kind}": [\n{records}\n]')
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    PAGE.write_text(page(figures, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def page(figures: Figures, text: str) -> str:
    """The text of the page with its tables made again.

    A table lies between the comments ``<!-- table: SECTION -->`` and ``<!-- end -->``.
    """
    sections: dict[str, list[Line]] = {}
    for line in (*figures.simulated, *figures.real):
        sections.setdefault(line.section, []).append(line)
    tables = {section: _table(lines) for section, lines in sections.items()}
    for section, table in tables.items():
        start = f"<!-- table: {section} -->\n"
        if start not in text:
            raise ValueError(f"docs/calibration.md has no place for the table {section!r}.")
        before, rest = text.split(start)
        text = f"{before}{start}\n{table}\n\n<!-- end -->{rest.split('<!-- end -->', 1)[1]}"
    return re.sub(
        r"\d+ draws a line, and \d+ real tables",
        f"{figures.draws} draws a line, and {figures.tables} real tables",
        text,
    )


COLUMNS = (
    "true difference, points",
    "false",
    "covered",
    "width, points",
    "direction",
    "beyond",
)


def _table(lines: Sequence[Line]) -> str:
    """Lines as a table in Markdown, without columns that hold nothing."""
    rows = [_entries(line) for line in lines]
    used = [place for place in range(len(COLUMNS)) if any(row[place] != NOTHING for row in rows)]
    said = ["| what | " + " | ".join(COLUMNS[place] for place in used) + " |", "|---" + "|--:" * len(used) + "|"]
    for line, row in zip(lines, rows, strict=True):
        said.append(f"| {line.what} | " + " | ".join(row[place] for place in used) + " |")
    return "\n".join(said)


def _entries(line: Line) -> list[str]:
    """A line's entries in the columns."""
    differs = line.truth != 0.0 and line.draws > 0
    return [
        NOTHING if line.truth is None else f"{100 * line.truth:.3g}",
        NOTHING if line.truth is None else _percent(line.false, line.draws),
        _percent(line.covered, line.intervals),
        f"{100 * line.total_width / line.intervals:.1f}" if line.intervals else NOTHING,
        _percent(line.direction, line.draws if differs else 0),
        NOTHING if line.truth is None else _percent(line.helps, line.draws if differs else 0),
    ]


def _percent(count: int, of: int) -> str:
    """A share in percent with its standard error; a dash of nothing."""
    if not of:
        return NOTHING
    error = math.sqrt(max(count, 1) * max(of - count, 1) / of) / of
    return f"{100 * count / of:.1f} ± {100 * error:.1f}"


if __name__ == "__main__":
    write(read())
