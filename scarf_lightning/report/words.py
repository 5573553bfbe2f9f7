"""Columns and their values in words: ``pretrain=scarf`` is SCARF, ``corruption.rate=0.6`` is rate 0.6."""

from collections.abc import Mapping, Sequence
from typing import Any

VALUES = {
    "pretrain": {
        "none": "no pre-training",
        "scarf": "SCARF",
        "scarf_ae": "SCARF AE",
        "no_noise_ae": "no-noise AE",
        "add_noise_ae": "additive-noise AE",
        "scarf_disc": "discriminative SCARF",
    },
    "regime": {"full": "all labels", "noise30": "30 % of labels redrawn", "semi25": "25 % labelled"},
    "method": {
        "bitempered": "bi-tempered loss",
        "cotrain": "co-training",
        "deep_knn": "deep k-NN",
        "distill": "distillation",
        "scarf_augment": "SCARF augmentation",
        "self_train": "self-training",
        "tri_train": "tri-training",
        "xgboost": "XGBoost",
    },
    "fit_on": {"all": "fitted on all rows", "train": "fitted on training rows"},
    "regime.over": {"all": "over all classes", "others": "over the other classes"},
    "regime.validation": {"clean": "clean validation labels", "noisy": "noisy validation labels"},
    "corruption.values": {"rows": "values of rows", "distinct": "distinct values"},
    "finetune.epoch": {"labelled_rows": "epochs of labelled rows", "training_rows": "epochs as with all labels"},
}
MOST_COLUMNS = 3
"""That are named together."""
PHASES = {"pretrain": "pre-training", "finetune": "fine-tuning"}
"""Owners that an option must be said to be of: both phases have a learning rate."""
OWNERS = {**PHASES, "regime": "labels"}
"""Columns and the owners of options that are not called what they are."""


def column_in_words(column: str) -> str:
    """``pretrain.batch_size`` is "pre-training batch size"."""
    owner, *option = column.split(".")
    return " ".join([OWNERS.get(owner, owner), *option]).replace("_", " ")


def columns_in_words(columns: Sequence[str]) -> str:
    return ", ".join(map(column_in_words, columns)) if len(columns) <= MOST_COLUMNS else "setting"


def value_in_words(column: str, value: Any, *, alone: bool = False) -> str:
    """One value of a column, without the column's name where it stands ``alone`` under it."""
    owner, *option = column.split(".")
    text = f"{value:g}" if isinstance(value, float) else str(value)
    if column in VALUES:
        return VALUES[column].get(text, text.replace("_", " "))
    if option:
        name = column_in_words(column if owner in PHASES else option[-1])
        return text if alone else f"{name} {text}"
    if column == "dataset":
        return text
    if text == "none":
        return f"no {column}"
    if column == "seed":
        return f"seed {text}"
    return text.replace("_", " ") if alone else f"{text.replace('_', ' ')} {column.replace('_', ' ')}"


def in_words(values: Mapping[str, Any], *, alone: bool = False) -> str:
    """What something is called by these columns, without those that it does not use, which are None.

    Args:
        values: by column.
        alone: the one value stands under the name of its column.
    """
    used = {column: value for column, value in values.items() if value is not None}
    if not used:
        return f"{columns_in_words(list(values))} not used"
    return ", ".join(value_in_words(column, value, alone=alone) for column, value in used.items())
