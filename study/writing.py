"""The parts of a study's page that its editions share: label budgets, words for numbers, and files."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from scarf_lightning.errors import counted
from scarf_lightning.reporting.style import save

from .results import ALL

FEWEST_TABLES = 6
"""Tables below which a comparison has no answer."""
LEVEL = 0.05


def budgets_of(trials: pd.DataFrame) -> list[str]:
    """The label budgets, fewest labels first."""
    return sorted(trials["labels"].unique(), key=lambda labels: (labels == ALL, 0 if labels == ALL else int(labels)))


def labels_in_words(labels: str) -> str:
    """A label budget in words."""
    return "all labels" if labels == ALL else f"{labels} labels"


def named_in_turn(items: Sequence[str]) -> str:
    """Items as a list in a sentence."""
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last


def counted_range(numbers: pd.Series, thing: str) -> str:
    """The smallest and the largest of numbers with a noun: ``5 to 10 trials``, or ``5 trials`` if they are equal."""
    fewest, most = numbers.min(), numbers.max()
    return counted(fewest, thing) if fewest == most else f"{fewest} to {counted(most, thing)}"


def level_in_words(p: float) -> str:
    """A level with three decimals, or below the smallest of them."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def write_page(out: Path, text: str, figures: Mapping[str, Figure], n_trials: int) -> None:
    """Write a page with its figures beside it, and say so."""
    out.parent.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        save(figure, out.parent, name)
    out.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{out} and {counted(len(figures), 'figure')}, from {n_trials:,} trials.\n")
