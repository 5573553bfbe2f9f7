"""Effects in words and in a picture: differences with their intervals."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from ..metrics import Metric
from .blocks import Picture
from .comparisons import Comparison
from .options import Options
from .sentences import effect, references, unsigned, won
from .statistics.verdict import ANSWERS
from .style import COLOURS, COLUMN, GREY, PAGE, new_figure, short, styled, tip

COLOUR_OF = dict(zip(ANSWERS, (COLOURS[0], COLOURS[1], COLOURS[2], GREY), strict=True))
MOST_ROWS = 20


def effects_picture(comparisons: Sequence[Comparison], options: Options) -> Picture:
    """The best comparisons with their intervals, best first."""
    metric, comparisons = options.measure, comparisons[:MOST_ROWS]
    words = "; ".join(f"{each.label}: {effect(each, metric)}, {each.verdict.answer}" for each in comparisons)
    kind = "corrected resampled t-test" if comparisons[0].verdict.datasets == 1 else "signed-rank test over datasets"
    return Picture(
        "effects",
        effects_figure(comparisons, metric, options.rope),
        narrow=effects_figure(comparisons, metric, options.rope, is_narrow=True),
        alt=f"Improvement in {metric.label} with 95 % intervals, best first. {words}.",
        caption=f"Improvement in {metric.label} over {references(comparisons)}, with its 95 % interval ({kind}). The "
        f"band holds differences of no practical consequence, up to {unsigned(options.rope, metric)}: what lies "
        "beyond it with a probability of 95 %, its interval free of zero, helps or hurts; an interval within it makes "
        "no practical difference.",
    )


@styled()
def effects_figure(
    comparisons: Sequence[Comparison], metric: Metric, rope: float, *, is_narrow: bool = False
) -> Figure:
    """A line a comparison: improvement and interval, coloured by the answer, over the band of no consequence.

    Names and answers stand beside the lines, or, where it is narrow, above them.
    """
    scale = metric.scale
    width, height = (COLUMN * 1.1, 0.34) if is_narrow else (PAGE * 1.3, 0.21)
    figure, (axes,) = new_figure(width, 0.6 + height * len(comparisons))
    axes.axvspan(-rope * scale, rope * scale, color=GREY, alpha=0.15, lw=0)
    axes.axvline(0, color="black", lw=0.6)
    for y, each in enumerate(comparisons):
        verdict = each.verdict
        colour = COLOUR_OF[verdict.answer]
        (line,) = axes.plot([scale * verdict.low, scale * verdict.high], [y, y], color=colour, lw=1.8)
        (point,) = axes.plot([scale * verdict.difference], [y], "o", color=colour, ms=5)
        words = f"{each.label}: {effect(each, metric)} over {each.reference}, {won(each)}; {verdict.answer}"
        tip(line, words)
        tip(point, words)
    axes.set_ylim(len(comparisons) - 0.5, -0.7 if is_narrow else -0.5)
    axes.set_xlabel(f"improvement in {metric.label}{', points' if scale == 100 else ''}")
    axes.tick_params(axis="y", length=0)
    if is_narrow:
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        for y, each in enumerate(comparisons):
            said = f"{short(each.label, 44)}: {each.verdict.answer}"
            axes.text(0, y - 0.25, said, transform=axes.get_yaxis_transform(), fontsize=7, va="bottom")
    else:
        axes.set_yticks(range(len(comparisons)), [short(each.label, 60) for each in comparisons])
        right = axes.twinx()
        right.set_ylim(axes.get_ylim())
        right.set_yticks(range(len(comparisons)), [each.verdict.answer for each in comparisons])
        right.tick_params(axis="y", length=0)
        right.spines[:].set_visible(False)
    return figure
