"""Drawings of a user's own are tried on the results of two made-up tables."""

import time
from dataclasses import MISSING, fields
from typing import Any, get_origin

import numpy as np
import pandas as pd

from ..errors import UsageError
from ..metrics import metrics
from .call import WrongError

PREFIX = "01-drawing"
AXIS = "pretrain"
N_TRIALS = 10
CELL = {"dataset_id": None, "fingerprint": "0" * 16, "failure": None, "overrides": (), "regime": "full",
        "method": "control", "network": "mlp", "wanted": N_TRIALS, "finished": N_TRIALS}  # fmt: skip


def try_drawing(cls: type[Any]) -> tuple[str, float]:
    """Draw results of two tables, each with and without pre-training.

    Returns:
        A sentence on the blocks, and the milliseconds of the drawing.

    Raises:
        WrongError: the blocks are none that a page can show.
    """
    from ..reporting.blocks import fault_of_blocks
    from ..reporting.report_options import ReportOptions

    keys = {"title": "a drawing"}
    for each in fields(cls):
        # Keys without a default name columns.
        if each.name not in keys and each.default is MISSING and each.default_factory is MISSING:
            keys[each.name] = [AXIS] if get_origin(each.type) is list else AXIS  # type: ignore[assignment]
    start = time.perf_counter()
    try:
        blocks = cls(**keys).blocks(_results(), ReportOptions(), PREFIX)
    except UsageError as error:
        return f"nothing is drawn of two made-up tables: {error}", 1000 * (time.perf_counter() - start)
    milliseconds = 1000 * (time.perf_counter() - start)
    if fault := fault_of_blocks(blocks, PREFIX):
        raise WrongError(fault)
    return f"blocks: {', '.join(type(block).__name__ for block in blocks) or 'none'}", milliseconds


def _results() -> Any:
    """Results of two tables, with a gain of three points by SCARF."""
    from ..reporting.cell_results import SECONDS, CellResults

    random = np.random.default_rng(0)
    cells, trials = list[dict[str, Any]](), list[dict[str, Any]]()
    for dataset in ("first", "second"):
        for pretrain, level in (("none", 0.80), ("scarf", 0.83)):
            for trial, noise in enumerate(random.normal(0, 0.01, N_TRIALS)):
                trials.append({"cell": len(cells), "trial": trial, "diverged": False, "accuracy": level + noise})
            cells.append({"dataset": dataset, AXIS: pretrain, **CELL})
    others = [*dict.fromkeys(metric.name for metric in metrics()), "finetune_epochs", "n_train", "n_test", "n_labelled",
              "n_labels", "one_class", "worse_than_frequencies", *SECONDS]  # fmt: skip
    frame = pd.DataFrame(trials)
    return CellResults(pd.DataFrame(cells), frame.reindex(columns=list(dict.fromkeys([*frame, *others]))))
