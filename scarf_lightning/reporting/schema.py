"""Columns that the CSV files of a report have for effects."""

from typing import Any

import pandas as pd

from ..verdicts.effects import Effect

COUNTS = ("trials", "datasets", "won", "lost")
"""Columns of whole numbers, which a line of a reference lacks."""


def evidence_columns(effect: Effect) -> dict[str, Any]:
    """The answer on an effect and its evidence, by the columns that tables of levels have for them."""
    verdict, row = effect.verdict, effect.row
    return {name: row[name] for name in ("answer", "claim", "basis", "difference", "trials", "datasets")} | {
        "difference_low": verdict.low, "difference_high": verdict.high, "p_direction": row["p"],
        "answer_alone": verdict.answer, "reason": row["why"],
    }  # fmt: skip


def whole_counts(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame whose numbers of trials and of datasets are whole, though some are missing."""
    return frame.astype(dict.fromkeys([column for column in COUNTS if column in frame], "Int64"))
