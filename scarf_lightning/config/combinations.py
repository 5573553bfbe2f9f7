"""Which choices go together, and which of a configuration's options a cell does not use."""

from dataclasses import asdict, fields
from typing import Any

from ..errors import UsageError
from ..settings import PretrainSettings
from .facts import Facts, facts
from .schema import Config

SELECTIVE = "rate"
"""A corruption that selects features has this option; `selection` says how it does."""

SCIENTIFIC = (
    "regime", "scaling", "fit_on", "pretrain", "corruption", "selection", "views", "loss", "method", "cotrain",
    "finetune", "network", "seed",
)  # fmt: skip
"""The sections that decide a cell's numbers. Paths, hardware, loggers and the number of trials do not, nor does the
dataset: its hash names its content."""

UNSAID_AT = {"network.name": "mlp", "finetune.freeze": "none"}
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


def check_combination(config: Config) -> None:
    """Refuse choices that do not go together.

    Raises:
        UsageError: which ones, and why.
    """
    name, regime = config.method.get("name"), config.regime.get("name")
    method = method_facts(config).variables
    if is_pretrained(config):
        _facts(config, "pretrain", config.pretrain.name, "pretrain.name")
        if not method["pretrainable"]:
            raise UsageError(
                f"method={name} does not go with pretrain={config.pretrain.name}: it is never pre-trained; use none."
            )
    if (
        is_cotrained(config)
        and not _facts(config, "pretrain", config.cotrain.task, "cotrain.task").variables["can_cotrain"]
    ):
        known = facts("pretrain", config.plugins)
        able = ", ".join(sorted(task for task, each in known.items() if each.variables["can_cotrain"]))
        raise UsageError(f"cotrain.task must be one of {able}, not {config.cotrain.task}.")
        if config.finetune.freeze != "none":
            raise UsageError(
                f"finetune.freeze={config.finetune.freeze} does not go with method={name}, which trains f."
            )
    regimes = facts("regime", config.plugins)
    if method["needs_unlabelled_rows"] and regime in regimes and not regimes[regime].variables["hides_labels"]:
        hiding = ", ".join(sorted(option for option, each in regimes.items() if each.variables["hides_labels"]))
        raise UsageError(f"method={name} does not go with regime={regime}: it needs unlabelled rows; use {hiding}.")


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
    unused |= {section for section in ("network", "finetune") if section not in used}
    if "network" in used and "finetune" not in used:
        unused.add("network.head")
    if "network" in used and not is_pretrained(config) and not is_cotrained(config):
        unused.add("network.pretrain_head")
    return unused


def canonical(config: Config) -> dict[str, Any]:
    """What decides a cell's numbers, but for the data: nested, with None for whatever the cell does not use."""
    everything = asdict(config)
    chosen = {name: everything[name] for name in SCIENTIFIC}
    for option in unused_options(config):
        node, last = _place_of(option, chosen)
        node[last] = None
    for group in ("pretrain", "cotrain"):
        if chosen[group] is not None:
            chosen[group] |= chosen[group].pop("options") or {}
    for option, value in UNSAID_AT.items():
        node, last = _place_of(option, chosen)
        if node is not None and node.get(last) == value:
            del node[last]
    return chosen


def _place_of(option: str, fields: dict[str, Any]) -> tuple[Any, str]:
    """The group that an option stands in, None where the cell does not use it, and its name there."""
    *groups, last = option.split(".")
    node: Any = fields
    for group in groups:
        node = node[group]
    return node, last


def _facts(config: Config, axis: str, name: Any, option: str) -> Facts:
    known = facts(axis, config.plugins)
    if name not in known:
        names = ", ".join(["none", *sorted(known)] if option == "pretrain.name" else sorted(known))
        raise UsageError(f"{option}={name} is unknown; the options are: {names}.")
    return known[name]
