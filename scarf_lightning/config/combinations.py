"""Which choices go together, and which of a configuration's options a cell does not use."""

import math
from dataclasses import asdict, fields, replace
from fractions import Fraction
from typing import Any

from ..errors import UsageError
from ..settings import PretrainSettings
from .schema import PRETEXT_TASKS, Choice, Config

SELECTIVE = "rate"
"""A corruption that selects features has this option; `selection` says how it does."""

OF_RAW_COLUMNS = ("marginal", "single_row")
"""Corruptions that count features before the one-hot encoding; the others count encoded ones."""

ALWAYS_SELECTS = "bernoulli"
"""The selection that corrupts a feature of a row, whatever the rate."""

NEVER_PRETRAINED = ("scarf_augment", "xgboost")

NEED_UNLABELLED_ROWS = ("self_train", "tri_train")

HIDE_LABELS = ("semi25", "few")

NO_NETWORK = "xgboost"


def is_pretrained(config: Config) -> bool:
    return config.pretrain.name != "none"


def is_cotrained(config: Config) -> bool:
    return config.method.get("name") == "cotrain"


def is_augmented(config: Config) -> bool:
    return config.method.get("name") == "scarf_augment"


def may_have_unlabelled_rows(config: Config) -> bool:
    """Whether some training rows have no label, as far as that can be known before the data are loaded."""
    return config.regime.get("name") in HIDE_LABELS or config.dataset.source == "csv"


def check_combination(config: Config) -> None:
    """Refuse choices that do not go together.

    Raises:
        UsageError: which ones, and why.
    """
    method, pretrain = config.method.get("name"), config.pretrain.name
    if is_pretrained(config) and pretrain not in PRETEXT_TASKS:
        known = ", ".join(["none", *PRETEXT_TASKS])
        raise UsageError(f"pretrain.name={pretrain} is unknown; the options are: {known}.")
    if is_pretrained(config) and method in NEVER_PRETRAINED:
        raise UsageError(f"method={method} does not go with pretrain={pretrain}: it is never pre-trained; use none.")
    if method in NEED_UNLABELLED_ROWS and not may_have_unlabelled_rows(config):
        regime = config.regime.get("name")
        raise UsageError(f"method={method} does not go with regime={regime}: it needs unlabelled rows; use semi25.")


def check_labels(config: Config, n_unlabelled: int) -> None:
    """Refuse a method that needs unlabelled rows where the data, once loaded, have none and the regime makes none.

    Raises:
        UsageError: which method, and what to do.
    """
    method, regime = config.method.get("name"), config.regime.get("name")
    if method in NEED_UNLABELLED_ROWS and regime not in HIDE_LABELS and not n_unlabelled:
        raise UsageError(
            f"method={method} needs unlabelled rows, and every row of {config.dataset.path} has a label; use "
            "regime=semi25 or few, or dataset.unlabelled=FILE."
        )


def unused_options(config: Config) -> set[str]:
    """Dotted names of options, or of groups of them, that have no part in this cell."""
    unused = set()
    tasks = []
    corruptions = []
    if is_pretrained(config):
        tasks.append(config.pretrain.name)
    else:
        unused |= {f"pretrain.{field.name}" for field in fields(PretrainSettings) if field.name != "name"}
        unused.add("loss")
    if is_pretrained(config) or is_augmented(config):
        corruptions.append(config.corruption)
    else:
        unused.add("corruption")
    if is_cotrained(config):
        tasks.append(config.cotrain.task)
        corruptions.append(config.cotrain.corruption)
    else:
        unused.add("cotrain")
    if not any(SELECTIVE in corruption for corruption in corruptions):
        unused.add("selection")
    if not any(PRETEXT_TASKS.get(task) == "contrastive" for task in tasks):
        unused.add("views")
    if config.method.get("name") == NO_NETWORK:
        unused |= {"finetune", "network"}
    elif not tasks:
        unused.add("network.pretrain_head")
    return unused


def on_data(config: Config, n_columns: int, n_encoded: int) -> Config:
    """The configuration that a cell amounts to on data of this width: a corruption that selects nothing is none.

    Args:
        config: the cell's.
        n_columns: M, raw columns of the table.
        n_encoded: columns after the one-hot encoding.
    """
    if config.selection.get("name") == ALWAYS_SELECTS:
        return config

    def amounts_to(corruption: Choice) -> Choice:
        width = n_columns if corruption.get("name") in OF_RAW_COLUMNS else n_encoded
        selects = SELECTIVE not in corruption or math.floor(Fraction(repr(corruption[SELECTIVE])) * width) > 0
        return corruption if selects else {"name": "none"}

    cotrain = replace(config.cotrain, corruption=amounts_to(config.cotrain.corruption))
    return replace(config, corruption=amounts_to(config.corruption), cotrain=cotrain)


def on_empty_selections(config: Config, amounting: Config) -> list[str]:
    """A sentence on each corruption of a cell that selects nothing on its data.

    Args:
        config: the cell's.
        amounting: what `on_data` makes of it.
    """
    unused = unused_options(config)
    said = []
    for option, asked, used in (
        ("corruption", config.corruption, amounting.corruption),
        ("cotrain.corruption", config.cotrain.corruption, amounting.cotrain.corruption),
    ):
        if asked != used and option.partition(".")[0] not in unused:
            said.append(
                f"{option}.rate={asked[SELECTIVE]:g} selects no feature of this table: it is trained, and counts, as "
                f"{option}=none."
            )
    return said


def canonical(config: Config) -> dict[str, Any]:
    """What decides a cell's numbers, but for the data: nested, with None for whatever the cell does not use.

    Paths, hardware, loggers and the number of trials are not in it, nor is the dataset: its hash names its content.
    """
    everything = asdict(config)
    scientific = (
        "regime", "scaling", "fit_on", "pretrain", "corruption", "selection", "views", "loss", "method", "cotrain",
        "finetune", "network", "seed",
    )  # fmt: skip
    chosen = {name: everything[name] for name in scientific}
    if config.split["name"] != "random":  # the paper's; what it goes by is in the data's hash
        chosen["split"] = {"name": config.split["name"]}
    for option in unused_options(config):
        *groups, last = option.split(".")
        node = chosen
        for group in groups:
            node = node[group]
        node[last] = None
    return chosen
