"""Figures, each a function from frames to a matplotlib `Figure`; nothing is kept in pyplot's state."""

from .agreement import agreement_scatter
from .boxes import box_plots
from .curves import loss_curves
from .gains import gain_dots
from .matrix import heat_map
from .ranks import critical_difference
from .sensitivity import sensitivity_line
from .stability import stability_lines
from .style import save

__all__ = [
    "agreement_scatter",
    "box_plots",
    "critical_difference",
    "gain_dots",
    "heat_map",
    "loss_curves",
    "save",
    "sensitivity_line",
    "stability_lines",
]
