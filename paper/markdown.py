"""Tables of a report as Markdown."""

from scarf_lightning.reporting.blocks import Table
from scarf_lightning.screen import escaped

SIGNS = str.maketrans({**{character: f"\\{character}" for character in "\\|*_`[]"}, "<": "&lt;", ">": "&gt;"})


def to_markdown(table: Table) -> str:
    """A pipe table under its caption; the best of a row is bold."""
    heading = [markdown(each) for each in table.columns]
    # A colon aligns numbers at the right.
    rule = ["--:" if column in table.numeric else "---" for column in range(len(heading))]
    lines = [f"| {' | '.join(cells)} |" for cells in (heading, rule, *table.texts(markdown, "**{}**"))]
    return "\n".join([markdown(table.caption), "", *lines]) + "\n"


def markdown(text: str) -> str:
    """Text in which Markdown, and a pipe table, see nothing but text."""
    return escaped(" ".join(text.splitlines()), allowed="").translate(SIGNS)
