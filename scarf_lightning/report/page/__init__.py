"""One HTML page that needs nothing beside it."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment
from markupsafe import Markup

from ..blocks import Section
from ..style import as_inline, as_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GENERATOR = "SCARF-Lightning report"
"""By this a page is known to be a report, which a later one may replace."""
LONG_TABLE = 12
"""Rows above which a table has a filter."""


def page(title: str, about: Sequence[str], sections: Sequence[Section], folder: Path) -> str:
    """The page.

    Args:
        title: its heading.
        about: lines under the first section.
        sections: in their order; the first is the answer.
        folder: where the sections' figures have been written, under ``figures/``; the tables' files are named as if
            they were in ``tables/``.
    """

    def drawn(name: str) -> Markup:
        return Markup(as_inline((folder / "figures" / f"{name}.svg").read_text(encoding="utf-8")))

    def narrow(figure: "Figure") -> Markup:
        return Markup(as_inline(as_svg(figure)))

    template = Environment(autoescape=True).from_string(_shipped("page.html"))
    return template.render(
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


def _shipped(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
