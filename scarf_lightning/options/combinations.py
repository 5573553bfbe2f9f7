"""Which choices go together, and which options a cell uses."""

import math
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UsageError
from .axes import BASES, COLUMNS, OF_THE_RUN
from .catalogue import Description, description, descriptions, label
from .option import Options, options_of
from .settings import (
    SHORTHANDS,
    USED,
    Choice,
    Config,
    DatasetSettings,
    FinetuneSettings,
    FitSettings,
    PretrainSettings,
)

if TYPE_CHECKING:
    from ..data.targets import Target

SELECTIVE = "rate"
"""A corruption that selects features has this option; `selection` says how it does."""

SPLIT_BY = ("split.column", "split.validation", "split.test")
NOT_SECTIONS = {*OF_THE_RUN, "dataset", "plugins", *SHORTHANDS, *SPLIT_BY}
"""Options of the run, and those that a cell's identity holds in another form: hashes of the data, with what a split
goes by, and of plugins, and each phase's own option for a shorthand."""

SCORES = ("finetune.metric",)
"""Options that a method without networks of ours uses only if its options are searched for."""

NOT_WIDENED: Choice = {"name": "onehot"}


def is_in(name: str, groups: Collection[str]) -> bool:
    """Whether an option is among these options, or lies in one of these groups of options."""
    while name and name not in groups:
        name = name.rpartition(".")[0]
    return bool(name)


def is_pretrained(config: Config) -> bool:
    return config.pretrain.name != "none"


def is_cotrained(config: Config) -> bool:
    """Whether the method has a pretext task of its own."""
    return "pretext" in method_of(config).fields


def method_of(config: Config) -> Description:
    """The description of the cell's method."""
    return description("method", config.method.get("name"))


def hides_labels(config: Config) -> bool:
    """Whether the regime leaves training rows without a label."""
    return bool(description("regime", config.regime.get("name")).hides_labels)


def watched_from(config: Config) -> float:
    """The smallest number of labels, in all, with which the supervised phase of a cell stops or chooses by some of
    them; infinite if it never does."""
    method, settings = method_of(config), config.finetune
    if config.tune or method.validates:
        return 0
    stops_or_chooses = settings.stops_after < math.inf or settings.keeps_best
    return settings.fixed_below if "finetune" in method.uses and stops_or_chooses else math.inf


def encoding_of(config: Config) -> Choice:
    """How the cell's table is encoded. A method without a network encodes it by itself."""
    return config.encoding if "network" in method_of(config).uses else NOT_WIDENED


def check_combination(config: Config) -> None:
    """Refuse choices that do not go together by a `UsageError`."""
    name, regime = config.method.get("name"), config.regime.get("name")
    method = method_of(config)
    if is_pretrained(config):
        description("pretrain", config.pretrain.name)
        if not method.pretrainable:
            raise UsageError(
                f"method={name} does not go with pretrain={config.pretrain.name}: it is never pre-trained; use none."
            )
    if is_cotrained(config):
        able = sorted(task for task, each in descriptions("pretrain").items() if each.can_cotrain)
        if config.cotrain.task not in able:
            raise UsageError(f"cotrain.task must be one of {', '.join(able)}, not {config.cotrain.task}.")
        if config.finetune.freeze != "none":
            raise UsageError(
                f"finetune.freeze={config.finetune.freeze} does not go with method={name}, which trains f."
            )
    if config.tune and config.keep_weights and "network" in method.uses:
        raise UsageError(
            "keep_weights=true does not go with tune: each trial has a network of its own shape; keep the weights of "
            "a cell with the options that tuning chose."
        )
    may_have_unlabelled_rows = hides_labels(config) or config.dataset.source == "csv"  # of a file, once it is read
    if method.needs_unlabelled_rows and not may_have_unlabelled_rows:
        hiding = ", ".join(sorted(name for name, each in descriptions("regime").items() if each.hides_labels))
        raise UsageError(f"method={name} does not go with regime={regime}: it needs unlabelled rows; use {hiding}.")


def check_target(config: Config, kind: "type[Target]") -> None:
    """Refuse a method, weights and metrics that do not serve a kind of target by a `UsageError`."""
    check_method(config, kind)
    if config.finetune.class_weight != "none" and not kind.can_balance:
        raise UsageError(
            f"finetune.class_weight={config.finetune.class_weight} does not go with dataset.target_kind={kind.name}, "
            "which has no classes to balance; leave it out."
        )
    known = [each.name for each in kind.metrics()]
    for option, name in (("metric", config.metric), ("finetune.metric", config.finetune.metric)):
        if name is not None and name not in known:
            raise UsageError(f"{option}={name} does not measure {kind.noun}; their metrics are: {', '.join(known)}.")


def check_method(config: Config, kind: "type[Target]") -> None:
    """Refuse a method that does not serve a kind of target by a `UsageError`."""
    method = method_of(config)
    if not kind.is_among(method.targets):
        why = method.why_not or f"it serves {' and '.join(method.targets)}"
        raise UsageError(f"method={method.name} does not go with dataset.target_kind={kind.name}: {why}.")


def check_labels(config: Config, n_unlabelled: int) -> None:
    """Refuse a method that needs unlabelled rows by a `UsageError`, if neither loaded data nor the regime has any."""
    if method_of(config).needs_unlabelled_rows and not hides_labels(config) and not n_unlabelled:
        raise UsageError(
            f"method={config.method['name']} needs unlabelled rows, and every row of {config.dataset.path} has a "
            "label; use regime=semi25 or few, or dataset.unlabelled=FILE."
        )


def unused_options(config: Config) -> set[str]:
    """Dotted names of options, or of groups of them, that this cell does not use. Its method, pre-training and
    co-training task say by their fields which axes they use."""
    method, unused, corruptions = method_of(config), set[str](), list[Choice]()
    if "validation_share" in config.regime:
        is_inside = config.regime["validation"] == "inside"
        unused |= set() if is_inside and watched_from(config) < math.inf else {"regime.validation_share"}
    wanted = set(method.fields)
    if is_pretrained(config):
        wanted |= description("pretrain", config.pretrain.name).fields
    else:
        unused |= {f"pretrain.{name}" for name in _field_names(PretrainSettings) - {"name"}}
    unused |= {"corruption", "loss"} - wanted
    if "corruption" in wanted:
        corruptions.append(config.corruption)
    if is_cotrained(config):
        of_task = description("pretrain", config.cotrain.task, option="cotrain.task").fields
        unused |= {f"cotrain.{axis}" for axis in {"corruption", "loss"} - of_task}
        if "corruption" in of_task:
            corruptions.append(config.cotrain.corruption)
        wanted |= of_task
    else:
        unused.add("cotrain")
    if not any(SELECTIVE in corruption for corruption in corruptions):
        unused.add("selection")
    unused |= {"views"} - wanted
    used = method.uses
    if "network" not in used:
        unused |= {"network", "encoding"}
    elif not is_pretrained(config) and not is_cotrained(config):
        unused.add("network.pretrain_head")
    if "finetune" not in used:
        unused |= _unused_of_finetune(used if config.tune else [option for option in used if option not in SCORES])
        unused |= {"network.head"} if "network" in used else set()
    else:
        unused |= _unused_of_phase("finetune", config.finetune) | _unused_of_labels(config)
    if is_pretrained(config):
        unused |= _unused_of_phase("pretrain", config.pretrain)
    if not is_pretrained(config):
        unused |= {name for name in SHORTHANDS if unused & {"finetune", f"finetune.{name}"}}
    return unused


def _unused_of_phase(place: str, settings: FitSettings) -> set[str]:
    """The options of a phase that do nothing beside its other options."""
    unused = set[str]()
    if settings.monitor == "none":
        unused |= {"patience", "restore_best", "validate_every", "ties"}
    if settings.max_steps is not None:
        unused.add("max_epochs")
    if settings.weight_decay == 0:
        unused |= {"decayed", "weight_decay_schedule"}
    return {f"{place}.{name}" for name in unused}


def _unused_of_labels(config: Config) -> set[str]:
    """The options of the supervised phase that do nothing beside the method and the other options."""
    settings, unused = config.finetune, set[str]()
    if settings.watched_metric is not None:
        unused.add("finetune.monitor")
    elif settings.metric is not None and not config.tune:
        unused.add("finetune.metric")
    if settings.fixed_below == 0:
        unused.add("finetune.fixed_steps")
    if settings.label_smoothing == 0 or method_of(config).smooths_labels:
        unused.add("finetune.label_smoothing_schedule")
    if method_of(config).smooths_labels:
        unused.add("finetune.label_smoothing")
    return unused


def _unused_of_finetune(used: Sequence[str]) -> set[str]:
    """The options ``finetune.*`` that are not among those that a method uses."""
    options = {f"finetune.{name}" for name in _field_names(FinetuneSettings)}
    return options - set(used) if options & set(used) else {"finetune"}


def _field_names(cls: type[Any]) -> set[str]:
    return {field.name for field in fields(cls)}


class UsedOption(NamedTuple):
    """An option that a cell uses: its dotted name, its value, and whether it differs from the part's default.

    The name of a part, such as ``corruption``, counts as an option that always differs.
    """

    name: str
    value: Any
    differs: bool


def used_options(config: Config) -> Sequence[UsedOption]:
    """The options that decide a cell's numbers, in the order of the configuration.

    They are kept with the configuration, which is never changed once it is made. A copy may be changed, so it lacks
    them, except for that of `on_dataset`.
    """
    found: list[UsedOption] | None = vars(config).get(USED)
    if found is None:
        unused = unused_options(config)
        found = [UsedOption(sys.intern(name), *of_it) for name, *of_it in _options(config) if not is_in(name, unused)]
        vars(config)[USED] = found
    return found


def on_dataset(config: Config, dataset: DatasetSettings) -> Config:
    """The configuration on another dataset. Which options it uses is found once for both."""
    other = copy(config)
    other.dataset = dataset
    vars(other)[USED] = used_options(config)
    return other


def part_axis(option: str) -> str | None:
    """The axis whose part an option names, as ``cotrain.loss`` names one of ``loss``; None if it names no part."""
    axis = "pretrain" if option == "cotrain.task" else option.removeprefix("cotrain.")
    return axis if axis in BASES else None


def _options(config: Config) -> Iterator[tuple[str, Any, bool]]:
    yield from _options_in(config, "")
    precision = options_of(type(config.trainer))["precision"].default
    yield "precision", config.trainer.precision, config.trainer.precision != precision


def _options_in(settings: Options, place: str) -> Iterator[tuple[str, Any, bool]]:
    """The options of settings, of the parts that they name, and of the groups in them."""
    known, named = options_of(type(settings)), settings.named_part
    if named is not None:
        option = place if named.name == "name" else f"{place}.{named.name}"
        name, values = getattr(settings, named.name), getattr(settings, named.options)
        yield from _of_part(option, named.axis, name, values, named.place_in(place))
    for field in fields(settings):
        full, value = f"{place}.{field.name}".removeprefix("."), getattr(settings, field.name)
        if full in NOT_SECTIONS:
            continue
        if field.name in known and field.name == "name":  # settings that are the choice of an axis
            yield place, value, True
        elif field.name in known:
            yield full, value, value != known[field.name].default
        elif is_dataclass(value):
            yield from _options_in(value, full)  # type: ignore[arg-type]
        elif field.name in BASES and value:
            yield from _of_part(full, field.name, value["name"], value, full)


def _of_part(option: str, axis: str, name: str, values: Choice, place: str) -> Iterator[tuple[str, Any, bool]]:
    """The option that names a part, and the part's own options."""
    yield option, name, True
    if (option, name) != ("pretrain", "none"):
        for own in description(axis, name, option=option).options.values():
            full, value = f"{place}.{own.name}", values.get(own.name, own.default)
            if full not in NOT_SECTIONS:
                yield full, value, value != own.default


def on_target(config: Config, kind: "type[Target]") -> Config:
    """The configuration without label smoothing if a kind of target has no classes."""
    if kind.can_smooth or config.finetune.label_smoothing == 0:
        return config
    return replace(config, finetune=replace(config.finetune, label_smoothing=0.0))


def on_data(config: Config, n_columns: int, n_encoded: int) -> Config:
    """The configuration with ``none`` for a corruption that selects no feature of a table of this width, before and
    after one-hot encoding."""
    if description("selection", config.selection.get("name")).always_selects:
        return config
    if not description("encoding", encoding_of(config).get("name")).widens:
        n_encoded = n_columns

    def amounts_to(corruption: Choice) -> Choice:
        if SELECTIVE not in corruption:
            return corruption
        width = n_columns if description("corruption", corruption["name"]).space == "raw" else n_encoded
        selects = math.floor(Fraction(repr(corruption[SELECTIVE])) * width) > 0
        return corruption if selects else {"name": "none"}

    corruption, of_cotrain = amounts_to(config.corruption), amounts_to(config.cotrain.corruption)
    if corruption is config.corruption and of_cotrain is config.cotrain.corruption:
        return config
    return replace(config, corruption=corruption, cotrain=replace(config.cotrain, corruption=of_cotrain))


def on_no_effect(config: Config, amounting: Config, of_recipe: Mapping[str, Any] | None = None) -> list[str]:
    """A sentence on each option of a cell that does nothing on its data, so that `on_data` or `on_target` changed it:
    a corruption that selects nothing, and the smoothing of labels that are numbers, unless the recipe asked for it."""
    smoothing = config.finetune.label_smoothing
    idle, is_asked_for = [], (of_recipe or {}).get("finetune.label_smoothing") != smoothing
    if is_asked_for and smoothing != amounting.finetune.label_smoothing and "finetune" in method_of(config).uses:
        idle.append(
            f"finetune.label_smoothing={smoothing:g} is for classes: on numbers the cell trains, and counts, as "
            "finetune.label_smoothing=0."
        )
    asked = {"corruption": config.corruption, "cotrain.corruption": config.cotrain.corruption}
    trained = {"corruption": amounting.corruption, "cotrain.corruption": amounting.cotrain.corruption}
    unused = unused_options(config)
    return idle + [
        f"{option}.rate={choice[SELECTIVE]:g} selects no feature of this table: the cell trains, and counts, as "
        f"{option}=none."
        for option, choice in asked.items()
        if choice != trained[option] and not is_in(option, unused)
    ]


def labels(config: Config) -> Mapping[str, str]:
    """What people call each part that the cell uses, by the column of its axis."""
    chosen = {each.name: (part_axis(each.name), each.value) for each in used_options(config) if each.name in COLUMNS}
    return {column: label(axis, name) for column, (axis, name) in chosen.items() if axis is not None}
