"""Are these trials enough? The order in subsets beside the order of everything."""

import pandas as pd
from matplotlib.figure import Figure

from .style import PAGE, colour, new_figure, styled


@styled()
def stability_lines(stability: pd.DataFrame) -> Figure:
    """Kendall's tau with the order of everything, down to its 5 % quantile, and how often the best stays the best.

    Args:
        stability: as `rank_stability` returns it.
    """
    panels = [drawn for drawn in ("trials", "datasets") if (stability["drawn"] == drawn).any()]
    figure, axes = new_figure(PAGE * 0.4 + PAGE * 0.4 * (len(panels) - 1), 2.3, 1, len(panels), sharey=True)
    for place, drawn in zip(axes, panels, strict=True):
        part = stability[stability["drawn"] == drawn]
        place.fill_between(part["size"], part["tau_low"], part["tau"], color=colour(0), alpha=0.2, lw=0)
        place.plot(part["size"], part["tau"], color=colour(0), marker="o", ms=3, label="Kendall's tau (down to 5 %)")
        place.plot(
            part["size"], part["best_stays"], color=colour(1), marker="s", ms=3, ls="--", label="best stays best"
        )
        place.axhline(1, color="black", lw=0.5, zorder=0)
        place.set_xscale("log")
        place.set_xticks(part["size"].to_list(), [str(size) for size in part["size"]])
        place.minorticks_off()
        place.set_xlabel(f"{drawn} drawn")
    axes[0].set_ylabel("agreement with everything")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    return figure
