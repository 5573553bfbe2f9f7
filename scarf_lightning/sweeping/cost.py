"""The processor time that a trial is expected to take: one estimate for plans, the time left and chunks.

A fit of a network takes so many optimiser steps, each of which costs a little by itself and a little for each row::

    fit = FIT + steps * STEP + rows * epochs * seconds of a row

Methods tell how many fits they make (``typical_fits``), networks what a row costs beside the MLP (``typical_cost``),
models of other libraries what a fit takes, and rules for columns what their choice takes (``typical_seconds``). The
constants were measured on one core, see `tools.benchmarks.planned_time`, which compares what is planned with what is
spent.
"""

import math

from ..options import Config
from ..options.settings import FitSettings
from .sizes import Size

# Measured on one core of the machine in docs/speed.md. On another machine `_pace` in plan.py corrects them.
START_UP = 3.2
"""Seconds until torch and Lightning are imported and the result is shown."""
FIT, ALONE = 0.02, 0.03
"""Seconds of a fit, however small it is, and those more of a method that trains the trials of a stack one by one."""
STEP = 0.001
"""Seconds of an optimiser step of one trial, however few rows it has."""
ROW = {"pretrain": 4e-5, "finetune": 1.6e-5}
"""Seconds of a training row and an epoch in each phase, of the default network on `USUAL_COLUMNS`."""
USUAL_COLUMNS, OTHER_COLUMNS = 30, 1300
"""The columns of the measurement, and how many would cost as much as all of the network behind its first layer."""
EPOCHS = {"pretrain": 24.0, "finetune": 11.0}
"""The mean number of epochs with the default patience of 3, of SCARF over 21 to 35 by recipe. It grows in proportion to
the patience."""
TYPICAL_PATIENCE = 3
TIES = 1.5
"""How many times as long a phase trains whose patience begins anew at an equally good epoch."""
TRAINED_SHARE, VALIDATED_SHARE = 0.7, 0.1
"""Of the rows with a label, in random splits; the others are tested."""
TYPICAL_SIZE = Size(1000, 20)
"""Assumed of data whose size nobody knows before they are loaded."""

Phases = dict[str, float]
"""Processor seconds by phase, ``pretrain`` and ``finetune``."""


def seconds_of_trial(config: Config, size: Size) -> Phases:
    """The processor seconds that one trial of a cell is expected to take.

    Args:
        config: of the cell.
        size: of its table.
    """
    trained = TRAINED_SHARE * size.n_rows
    # `semi25` has the option `labelled`, a share; `few` has `labels`, a number or a share.
    asked = float(config.regime.get("labelled") or config.regime.get("labels") or 1.0)
    # A table may have fewer rows than `few` asks for; it is refused only once it is loaded.
    labelled = min(asked * trained if asked <= 1 else asked, trained)
    phases = {}
    if config.is_pretrained:
        # Pre-training needs no labels, so it learns from every training row that it may see.
        phases["pretrain"] = _fit(
            config, config.pretrain, "pretrain", min(trained, config.pretrain.rows or math.inf), size
        )
    method = config.part("method")
    # A method that uses no options of fine-tuning trains another library's model.
    if "finetune" not in method.uses:
        fit_seconds, thousand_rows_seconds = method.typical_seconds
        phases["finetune"] = fit_seconds + thousand_rows_seconds * size.n_columns / USUAL_COLUMNS * labelled / 1000
        return phases
    if method.needs_unlabelled_rows:
        # Rows get labels from fit to fit, until most have one.
        labelled = (labelled + trained) / 2
    fit = _fit(config, config.finetune.fit_to_rows(round(labelled)), "finetune", labelled, size)
    phases["finetune"] = method.typical_fits * (fit + ALONE * method.trains_each_alone)
    return phases


def _fit(config: Config, settings: FitSettings, phase: str, n_rows: float, size: Size) -> float:
    """The seconds of one fit of the network on so many rows."""
    network = config.part("network")
    # Rows behind the last full batch count by `ROW` alone; fewer rows than a batch are one step.
    steps = max(1, math.floor(n_rows / settings.batch_size))
    # An MLP's first layer alone grows with the columns.
    width = (size.n_columns + OTHER_COLUMNS) / (USUAL_COLUMNS + OTHER_COLUMNS)
    # A network with a token a column does all of its work once for each column.
    if network.costs_by_column:
        width = size.n_columns / USUAL_COLUMNS
    rows_seconds = n_rows * ROW[phase] * network.typical_cost * width
    return float(FIT + epochs_of(settings, phase, steps) * (steps * STEP + rows_seconds))


def epochs_of(settings: FitSettings, phase: str, steps: int) -> float:
    """The epochs that a phase is expected to train, of so many optimiser steps each.

    >>> epochs_of(FitSettings(min_steps=100), "finetune", 4)
    25.0
    """
    first, last = settings.epochs(steps)
    if math.isinf(settings.stops_after):
        return float(last)
    # `EPOCHS` was measured with the typical patience and a validation after every epoch.
    waits = settings.stops_after / (TYPICAL_PATIENCE + 1) * settings.validate_every
    if settings.ties == "last":
        waits *= TIES
    return max(float(first), min(EPOCHS[phase] * waits, float(last)))


def labels_to_learn_from(n_labelled: int, *, counts_validation: bool) -> int:
    """Of the labels of a table those that a random split leaves to training, and to validation if they count."""
    n_test = round((1 - TRAINED_SHARE - VALIDATED_SHARE) * n_labelled)
    n_validation = 0 if counts_validation else round(VALIDATED_SHARE * n_labelled)
    return n_labelled - n_test - n_validation
