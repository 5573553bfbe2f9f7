"""One HTML page that needs nothing beside it."""

import base64
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from ..sections import Paragraph, Picture, Section
from ..tables import Shown, Table

GENERATOR = "SCARF-Lightning report"
"""By this a page is known to be a report, which a later one may replace."""
TABLE_FILES = ("csv", "md", "tex")
FIGURE_FILES = ("svg", "png")


def page(title: str, about: Sequence[str], sections: Sequence[Section], folder: Path) -> str:
    """The page.

    Args:
        title: its heading.
        about: lines under it.
        sections: in their order.
        folder: where the sections' figures have been written, under ``figures/``; the tables' files are named as if
            they were in ``tables/``.
    """
    contents = "".join(f'<li><a href="#{escape(s.name)}">{escape(s.title)}</a></li>' for s in sections)
    lines = "".join(f'<p class="quiet">{escape(line)}</p>' for line in about)
    summary, *rest = (_section(section, folder) for section in sections)
    others = "".join(rest)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="{GENERATOR}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
script-src 'unsafe-inline'">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>
{_shipped("page.css")}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
{lines}
{summary}
<nav aria-label="Contents"><h2>Contents</h2><ol>{contents}</ol></nav>
{others}
</main>
<script>
{_shipped("page.js")}</script>
</body>
</html>
"""


def _shipped(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _section(section: Section, folder: Path) -> str:
    blocks = []
    for block in section.blocks:
        if isinstance(block, Paragraph):
            kind = ' class="warns"' if block.warns else ""
            blocks.append(f"<p{kind}>{escape(block.text)}</p>")
        elif isinstance(block, Picture):
            blocks.append(_picture(block, folder))
        else:
            blocks.append(_table(block))
    body = "\n".join(blocks)
    return f'<section id="{escape(section.name)}">\n<h2>{escape(section.title)}</h2>\n{body}\n</section>\n'


def _picture(picture: Picture, folder: Path) -> str:
    drawn = base64.b64encode((folder / "figures" / f"{picture.name}.svg").read_bytes()).decode()
    width, height = (round(96 * inches) for inches in picture.figure.get_size_inches())
    return (
        f'<figure><div class="picture" tabindex="0" style="--width: {width}px">'
        f'<img src="data:image/svg+xml;base64,{drawn}" alt="{escape(picture.alt)}" width="{width}" height="{height}">'
        f"</div><figcaption>{escape(picture.caption)}</figcaption>"
        f"{_files('figures', picture.name, FIGURE_FILES)}</figure>"
    )


def _table(table: Table) -> str:
    numeric = [' class="number"' if table.is_numeric(column) else "" for column in range(len(table.columns))]
    head = "".join(
        f'<th scope="col"{kind}><button type="button">{escape(heading)}</button></th>'
        for heading, kind in zip(table.columns, numeric, strict=True)
    )
    body = "".join(
        f"<tr>{''.join(_entry(entry, kind) for entry, kind in zip(row, numeric, strict=True))}</tr>\n"
        for row in table.rows
    )
    return (
        f'<div class="table"><p class="caption quiet">{escape(table.caption)}</p>'
        f'<div class="box" tabindex="0" role="region" aria-label="{escape(table.caption)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>"
        f"{_files('tables', table.name, TABLE_FILES)}</div>"
    )


def _entry(entry: Shown, kind: str) -> str:
    sort = "" if entry.sort is None else escape(str(entry.sort))
    text = f"<strong>{escape(entry.text)}</strong>" if entry.best else escape(entry.text)
    return f'<td{kind} data-sort="{sort}">{text}</td>'


def _files(folder: str, name: str, endings: Sequence[str]) -> str:
    links = " · ".join(
        f'<a href="{folder}/{escape(name)}.{ending}" download>{ending.upper()}</a>' for ending in endings
    )
    return f'<p class="files">{escape(name)}: {links}</p>'
