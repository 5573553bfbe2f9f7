"""Which choices go together, and which of a configuration's options a cell does not use."""

import math
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from fractions import Fraction
from typing import Any

from ..errors import UsageError
from ..settings import FinetuneSettings, PretrainSettings
from .axes import OF_THE_RUN
from .facts import Facts, facts
from .schema import Choice, Config

SELECTIVE = "rate"
"""A corruption that selects features has this option; `selection` says how it does."""

SAID_OTHERWISE = ("dataset", "split", "batch_size", "plugins")
"""Sections that are part of what a cell is by another name: the data and their split by their hash, the batch size by
that of each phase, plugins by theirs."""

SCIENTIFIC = tuple(f.name for f in fields(Config) if f.name not in {*OF_THE_RUN, *SAID_OTHERWISE})
"""The sections that decide a cell's numbers. Paths, hardware, loggers and the number of trials do not."""

SCORES = ("finetune.metric",)
"""What a method without networks of ours uses only where its options are searched for."""

ONE_HOT = {"name": "onehot"}
OF_A_FIT = {
    "validate_every": 1, "monitor_smoothing": 0.0, "min_epochs": 1, "min_steps": 0, "min_improvement": 0.0,
    "weight_decay": 0.0, "gradient_clip": None, "schedule": "constant", "shuffle": "every_epoch",
}  # fmt: skip
OF_INFONCE = {"similarity": "cosine", "symmetric": False, "own_candidate": True}
UNSAID_AT: dict[str, Any] = {
    "regime.over": "all",
    "regime.validation": "clean",
    "regime.labelled_validation": 1.0,
    "corruption.values": "rows",
    "cotrain.corruption.values": "rows",
    "encoding": ONE_HOT,
    "impute_on": None,
    "network.name": "mlp",
    "finetune.freeze": "none",
    "finetune.class_weight": "none",
    "finetune.metric": None,
    "finetune.epoch": "labelled_rows",
    "finetune.first_layer": "fresh",
    "pretrain.validation_batch_size": None,
    "tune": 0,
    **{f"{phase}.{option}": value for phase in ("pretrain", "finetune") for option, value in OF_A_FIT.items()},
    **{f"{loss}.{option}": value for loss in ("loss", "cotrain.loss") for option, value in OF_INFONCE.items()},
}
"""Options at the values at which they are not part of what a cell is: what every cell was before they could be set."""


def is_pretrained(config: Config) -> bool:
    return config.pretrain.name != "none"


def is_cotrained(config: Config) -> bool:
    """Whether the method has a pretext task of its own."""
    return "pretext" in method_facts(config).fields


def method_facts(config: Config) -> Facts:
    """What the method says of itself.

    Raises:
        UsageError: there is no such method.
    """
    return _facts(config, "method", config.method.get("name"), "method.name")


def may_have_unlabelled_rows(config: Config) -> bool:
    """Whether some training rows have no label, as far as that can be known before the data are loaded."""
    return hides_labels(config) or config.dataset.source == "csv"


def hides_labels(config: Config) -> bool:
    """Whether the regime leaves training rows without a label."""
    regime = facts("regime", config.plugins).get(config.regime.get("name", ""))
    return regime is not None and bool(regime.variables["hides_labels"])


def encoding_of(config: Config) -> Choice:
    """How the cell's table is encoded: a method without a network encodes it by itself, if it does."""
    return config.encoding if "network" in method_facts(config).variables["uses"] else ONE_HOT


def check_combination(config: Config) -> None:
    """Refuse choices that do not go together.

    Raises:
        UsageError: which ones, and why.
    """
    name, regime = config.method.get("name"), config.regime.get("name")
    method = method_facts(config).variables
    if is_pretrained(config):
        pretext = _facts(config, "pretrain", config.pretrain.name, "pretrain.name").variables
        if config.finetune.first_layer == "pretrained":
            _check_first_layer(config, pretext["first_layer"])
        if not method["pretrainable"]:
            raise UsageError(
                f"method={name} does not go with pretrain={config.pretrain.name}: it is never pre-trained; use none."
            )
    if is_cotrained(config):
        tasks = facts("pretrain", config.plugins)
        able = sorted(task for task, each in tasks.items() if each.variables["can_cotrain"])
        if config.cotrain.task not in able:
            raise UsageError(f"cotrain.task must be one of {', '.join(able)}, not {config.cotrain.task}.")
        if config.finetune.freeze != "none":
            raise UsageError(
                f"finetune.freeze={config.finetune.freeze} does not go with method={name}, which trains f."
            )
    if config.tune and config.keep_weights and "network" in method["uses"]:
        raise UsageError(
            "keep_weights=true does not go with tune: each trial has a network of its own shape; keep the weights of "
            "a cell with the options that tuning chose."
        )
    regimes = facts("regime", config.plugins)
    if method["needs_unlabelled_rows"] and not may_have_unlabelled_rows(config):
        hiding = ", ".join(sorted(option for option, each in regimes.items() if each.variables["hides_labels"]))
        raise UsageError(f"method={name} does not go with regime={regime}: it needs unlabelled rows; use {hiding}.")


def _check_first_layer(config: Config, of_pretext: str) -> None:
    """Refuse to start h from the first layer of g where there is none, or none of its shape."""
    g, h = config.network.pretrain_head, config.network.head
    asked = "finetune.first_layer=pretrained"
    if not of_pretext:
        raise UsageError(f"{asked} does not go with pretrain={config.pretrain.name}, whose g has no one first layer.")
    if g.width != h.width or min(g.depth, h.depth) < 2:
        raise UsageError(
            f"{asked} needs network.pretrain_head and network.head of one width and of two layers at least, not of "
            f"{g.width} x {g.depth} and {h.width} x {h.depth}."
        )


def check_labels(config: Config, n_unlabelled: int) -> None:
    """Refuse a method that needs unlabelled rows where the data, once loaded, have none and the regime makes none.

    Raises:
        UsageError: which method, and what to do.
    """
    needs_some = method_facts(config).variables["needs_unlabelled_rows"]
    if needs_some and not hides_labels(config) and not n_unlabelled:
        raise UsageError(
            f"method={config.method['name']} needs unlabelled rows, and every row of {config.dataset.path} has one; "
            "use regime=semi25 or few, or dataset.unlabelled=FILE."
        )


def unused_options(config: Config) -> set[str]:
    """Dotted names of options, or of groups of them, that have no part in this cell.

    What a part uses of the axes, its fields say.
    """
    method = method_facts(config)
    users, corruptions, unused = [method.fields], [], set()
    if is_pretrained(config):
        users.append(_facts(config, "pretrain", config.pretrain.name, "pretrain.name").fields)
    else:
        unused |= {f"pretrain.{field.name}" for field in fields(PretrainSettings) if field.name != "name"}
    unused |= {axis for axis in ("corruption", "loss") if not any(axis in user for user in users)}
    if any("corruption" in user for user in users):
        corruptions.append(config.corruption)
    if is_cotrained(config):
        cotrained = _facts(config, "pretrain", config.cotrain.task, "cotrain.task").fields
        users.append(cotrained)
        unused |= {f"cotrain.{axis}" for axis in ("corruption", "loss") if axis not in cotrained}
        if "corruption" in cotrained:
            corruptions.append(config.cotrain.corruption)
    else:
        unused.add("cotrain")
    if not any(SELECTIVE in corruption for corruption in corruptions):
        unused.add("selection")
    if not any("views" in user for user in users):
        unused.add("views")
    used = method.variables["uses"]
    if not is_pretrained(config) and "finetune" in used:
        unused.add("finetune.first_layer")
    if config.finetune.metric is not None and "finetune" in used:
        unused.add("finetune.monitor")
    unused |= set() if "network" in used else {"network", "encoding"}
    if "finetune" not in used:
        unused |= _unused_of_finetune(used if config.tune else [option for option in used if option not in SCORES])
    if "network" in used and "finetune" not in used:
        unused.add("network.head")
    if "network" in used and not is_pretrained(config) and not is_cotrained(config):
        unused.add("network.pretrain_head")
    return unused


def _unused_of_finetune(used: Sequence[str]) -> set[str]:
    """What a method has no part of, of which the options ``finetune.*`` among ``used`` are all that it takes."""
    options = {f"finetune.{field.name}" for field in fields(FinetuneSettings)}
    return options - set(used) if options & set(used) else {"finetune"}


def on_data(config: Config, n_columns: int, n_encoded: int) -> Config:
    """The configuration that a cell amounts to on data of this width: a corruption that selects nothing is none.

    Args:
        config: the cell's.
        n_columns: M, raw columns of the table.
        n_encoded: columns after one-hot encoding.
    """
    if _facts(config, "selection", config.selection.get("name"), "selection.name").variables["always_selects"]:
        return config
    corruptions = facts("corruption", config.plugins)
    if not _facts(config, "encoding", encoding_of(config).get("name"), "encoding.name").variables["widens"]:
        n_encoded = n_columns

    def amounts_to(corruption: Choice) -> Choice:
        known = corruptions.get(corruption.get("name", ""))
        width = n_columns if known is not None and known.variables["space"] == "raw" else n_encoded
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
    """What decides a cell's numbers, but for the data: nested, with None for whatever the cell does not use."""
    everything = asdict(config)
    chosen = {name: everything[name] for name in SCIENTIFIC}
    if config.split["name"] != "random":  # the paper's; what it goes by is in the data's hash
        chosen["split"] = {"name": config.split["name"]}
    if chosen["impute_on"] == chosen["fit_on"]:
        chosen["impute_on"] = None
    for option in unused_options(config):
        node, last = _place_of(option, chosen)
        node[last] = None
    for group in ("pretrain", "cotrain"):
        if chosen[group] is not None:
            chosen[group] |= chosen[group].pop("options") or {}
    for option, value in UNSAID_AT.items():
        node, last = _place_of(option, chosen)
        if node is not None and node.get(last) in (value, None):
            node.pop(last, None)
    if chosen["finetune"] is not None and all(value is None for value in chosen["finetune"].values()):
        chosen["finetune"] = None
    return chosen


def _place_of(option: str, fields: dict[str, Any]) -> tuple[Any, str]:
    """The group that an option stands in, None where the cell does not use it, and its name there."""
    *groups, last = option.split(".")
    node: Any = fields
    for group in groups:
        node = None if node is None else node[group]
    return node, last


def _facts(config: Config, axis: str, name: Any, option: str) -> Facts:
    known = facts(axis, config.plugins)
    if name not in known:
        names = ", ".join(["none", *sorted(known)] if option == "pretrain.name" else sorted(known))
        raise UsageError(f"{option}={name} is unknown; the options are: {names}.")
    return known[name]
