"""Style of all figures: widths and letters of a paper, colours that colour-blind readers can distinguish."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from threading import RLock
from typing import Any

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler

COLUMN, PAGE = 3.35, 6.75
"""Widths in inches: of a column, of both."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's, https://jfly.uni-koeln.de/color/; the yellow, too light for lines, is left out."""
ENDINGS = ("svg", "png")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#767676"

STYLE: Any = {
    "font.family": "DejaVu Sans",
    **dict.fromkeys(("font.size", "axes.titlesize", "axes.labelsize"), 8),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 7),
    **dict.fromkeys(("axes.linewidth", "xtick.major.width", "ytick.major.width"), 0.6),
    "lines.linewidth": 1.2,
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "white",
    "text.parse_math": False,
    "svg.hashsalt": "scarf-lightning",
}
"""On matplotlib's defaults, whatever a matplotlibrc of the user's says. A dollar sign is a dollar sign: names of
datasets come from users. The salt makes equal figures equal files."""

_matplotlib = RLock()


@contextmanager
def styled() -> Iterator[None]:
    """Matplotlib has our settings while the block, or a function that this decorates, runs, in one thread at a time:
    they are those of the whole process, and are put back as the block found them."""
    with _matplotlib, style.context(["default", STYLE]):
        yield


def new_figure(
    width: float, height: float, rows: int = 1, columns: int = 1, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure outside pyplot, and its axes row by row."""
    # pyplot would keep every figure of a long report in the memory.
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, list(axes.flat)


def drawn(figure: Figure) -> dict[str, bytes]:
    """The contents of files of a figure, by their endings."""
    contents = {}
    with styled():
        # Laid out once, the figure has the same places in both files.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for ending in ENDINGS:
            file = BytesIO()
            figure.savefig(file, format=ending, dpi=200, metadata={"Date": None} if ending == "svg" else None)
            contents[ending] = file.getvalue()
    return contents


def colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def marker(index: int) -> str:
    return MARKERS[index % len(MARKERS)]
