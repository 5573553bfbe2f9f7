"""The trials of the study: a row a trial in study/third_edition/trials.parquet."""

from pathlib import Path

import pandas as pd

FILE = Path(__file__).parent / "third_edition" / "trials.parquet"
KEY = ["dataset", "labels", "competitor", "trial"]
NONE, SCARF = "no pre-training", "SCARF"


def read(file: Path = FILE) -> pd.DataFrame:
    """The trials in a file, in the order of their `KEY`."""
    return pd.read_parquet(file).sort_values(KEY, kind="stable", ignore_index=True)
