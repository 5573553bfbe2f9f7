"""Style of all figures: widths and letters of a paper, colours that colour-blind readers can distinguish."""

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler

F = TypeVar("F", bound=Callable[..., Any])

COLUMN, PAGE = 3.35, 6.75
"""Widths in inches: of a column, of both."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's, https://jfly.uni-koeln.de/color/; the yellow, too light for lines, is left out."""
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
DPI = 200


def styled() -> Callable[[F], F]:
    """Decorate a function that makes a figure: matplotlib has these settings while it runs."""
    decorator: Callable[[F], F] = _settings()
    return decorator


@contextmanager
def _settings() -> Iterator[None]:
    """Matplotlib has our settings while the block runs, in one thread at a time: they are those of the whole process,
    and are put back as the block found them."""
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


def save(figure: Figure, folder: Path, name: str) -> None:
    """Write a figure as SVG and PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    with _settings():
        # Lays it out, once for both files.
        figure.draw_without_rendering()
        # Laid out once, the figure has the same places in both files.
        figure.set_layout_engine("none")
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
        figure.savefig(folder / f"{name}.png", dpi=DPI)


def as_svg(figure: Figure) -> str:
    """The text of an SVG file."""
    text = StringIO()
    with _settings():
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def embedded(file: Path) -> str:
    """An SVG file as the address of an image in a page."""
    return f"data:image/svg+xml;base64,{b64encode(file.read_bytes()).decode()}"


def colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def marker(index: int) -> str:
    return MARKERS[index % len(MARKERS)]


def jitter(n: int, width: float) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Offsets that separate points in one place, the same ones every time."""
    # A fixed seed: equal results must give equal files.
    return np.random.default_rng(0).uniform(-width, width, n)


def spread(values: Sequence[float]) -> bool:
    """True if positive numbers have a range that a logarithmic axis shows better."""
    return min(values) > 0 and max(values) / min(values) > 20
