"""Which choices go together, and which options a cell uses."""

import math
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UsageError
from .axes import BASES, OF_THE_RUN, label, part, parts
from .checking import CHOICES
from .option import options_of
from .settings import (
    SHORTHANDS,
    USED,
    Choice,
    Config,
    DatasetSettings,
    FinetuneSettings,
    LayerSettings,
    PretrainSettings,
    ViewsSettings,
)

if TYPE_CHECKING:
    from ..data.targets import Target

SELECTIVE = "rate"
"""A corruption that selects features has this option; `selection` says how it does."""

IN_ANOTHER_FORM = ("dataset", "plugins", *SHORTHANDS)
"""Sections that a cell's identity holds in another form: the data and plugins by hashes, shorthands by what they set in
each phase."""

SECTIONS = tuple(field.name for field in fields(Config) if field.name not in {*OF_THE_RUN, *IN_ANOTHER_FORM})
"""The sections that decide a cell's numbers."""

SCORES = ("finetune.metric",)
"""What a method without networks of ours uses only where its options are searched for."""

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
    return "pretext" in _field_names(method_of(config))


def method_of(config: Config) -> type[Any]:
    """The class of the cell's method.

    Raises:
        UsageError: there is no such method.
    """
    return part("method", config.method.get("name"), config.plugins)


def may_have_unlabelled_rows(config: Config) -> bool:
    """Whether some training rows have no label, as far as that can be known before the data are loaded."""
    return hides_labels(config) or config.dataset.source == "csv"


def hides_labels(config: Config) -> bool:
    """Whether the regime leaves training rows without a label."""
    return bool(part("regime", config.regime.get("name"), config.plugins).hides_labels)


def encoding_of(config: Config) -> Choice:
    """How the cell's table is encoded. A method without a network encodes it by itself."""
    return config.encoding if "network" in method_of(config).uses else NOT_WIDENED


def check_combination(config: Config) -> None:
    """Refuse choices that do not go together.

    Raises:
        UsageError: which ones, and why.
    """
    name, regime = config.method.get("name"), config.regime.get("name")
    method = method_of(config)
    if is_pretrained(config):
        part("pretrain", config.pretrain.name, config.plugins)
        if not method.pretrainable:
            raise UsageError(
                f"method={name} does not go with pretrain={config.pretrain.name}: it is never pre-trained; use none."
            )
    if is_cotrained(config):
        able = sorted(task for task, cls in parts("pretrain", config.plugins).items() if cls.can_cotrain)
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
    if method.needs_unlabelled_rows and not may_have_unlabelled_rows(config):
        hiding = ", ".join(sorted(name for name, cls in parts("regime", config.plugins).items() if cls.hides_labels))
        raise UsageError(f"method={name} does not go with regime={regime}: it needs unlabelled rows; use {hiding}.")


def check_target(config: Config, kind: "type[Target]") -> None:
    """Refuse a method, weights and metrics that do not serve a kind of target.

    Raises:
        UsageError: which one, and why.
    """
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
    """Refuse a method that does not serve a kind of target.

    Raises:
        UsageError: why.
    """
    method = method_of(config)
    if not kind.is_among(method.targets):
        why = method.why_not or f"it serves {' and '.join(method.targets)}"
        raise UsageError(f"method={method.name} does not go with dataset.target_kind={kind.name}: {why}.")


def check_labels(config: Config, n_unlabelled: int) -> None:
    """Refuse a method that needs unlabelled rows where the loaded data have none and the regime makes none.

    Raises:
        UsageError: which method, and what to do.
    """
    if method_of(config).needs_unlabelled_rows and not hides_labels(config) and not n_unlabelled:
        raise UsageError(
            f"method={config.method['name']} needs unlabelled rows, and every row of {config.dataset.path} has a "
            "label; use regime=semi25 or few, or dataset.unlabelled=FILE."
        )


def unused_options(config: Config) -> set[str]:
    """Dotted names of options, or of groups of them, that this cell does not use.

    The fields of its method, pre-training and co-training task say which axes they use.
    """
    method = method_of(config)
    users, corruptions, unused = [_field_names(method)], [], set()
    if is_pretrained(config):
        users.append(_field_names(part("pretrain", config.pretrain.name, config.plugins)))
    else:
        unused |= {f"pretrain.{field.name}" for field in fields(PretrainSettings) if field.name != "name"}
    unused |= {axis for axis in ("corruption", "loss") if not any(axis in user for user in users)}
    if any("corruption" in user for user in users):
        corruptions.append(config.corruption)
    if is_cotrained(config):
        cotrained = _field_names(part("pretrain", config.cotrain.task, config.plugins, option="cotrain.task"))
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
    used = method.uses
    if config.finetune.metric is not None and "finetune" in used:
        unused.add("finetune.monitor")
    unused |= set() if "network" in used else {"network", "encoding"}
    if "finetune" not in used:
        unused |= _unused_of_finetune(used if config.tune else [option for option in used if option not in SCORES])
    if "network" in used and "finetune" not in used:
        unused.add("network.head")
    if "network" in used and not is_pretrained(config) and not is_cotrained(config):
        unused.add("network.pretrain_head")
    for name in SHORTHANDS:
        if not is_pretrained(config) and unused & {"finetune", f"finetune.{name}"}:
            unused.add(name)
    return unused


def _unused_of_finetune(used: Sequence[str]) -> set[str]:
    """The options ``finetune.*`` that are not among those that a method uses."""
    options = {f"finetune.{field.name}" for field in fields(FinetuneSettings)}
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

    They are kept with the configuration, which is never changed once it is made. A copy, which may be changed, lacks
    them, but for that of `on_dataset`.
    """
    found: list[UsedOption] | None = vars(config).get(USED)
    if found is None:
        unused = unused_options(config)
        every = _all_options(config)
        found = [UsedOption(sys.intern(name), *of_it) for name, *of_it in every if not is_in(name, unused)]
        vars(config)[USED] = found
    return found


def on_dataset(config: Config, dataset: DatasetSettings) -> Config:
    """The configuration on another dataset. Which options it uses is found once for both."""
    other = copy(config)
    other.dataset = dataset
    vars(other)[USED] = used_options(config)
    return other


def _all_options(config: Config) -> Iterator[tuple[str, Any, bool]]:
    """Name, value and whether it differs from its default, for each option of `SECTIONS` and for the precision."""
    for section in SECTIONS:
        value = getattr(config, section)
        if section == "split":
            yield section, value["name"], True  # what the split goes by is part of the data's hash
        elif section in CHOICES:
            yield from _choice(section, section, value, config)
        elif section == "pretrain":
            yield section, value.name, True
            if value.name != "none":
                yield from _own(section, "pretrain", value.name, value.options, config)
            yield from _settings(section, value)
        elif section == "cotrain":
            yield "cotrain.task", value.task, True
            yield from _own(section, "pretrain", value.task, value.options, config)
            yield from _settings(section, value)
            for axis in ("corruption", "loss"):
                yield from _choice(f"cotrain.{axis}", axis, getattr(value, axis), config)
        elif section == "network":
            yield section, value.name, True
            yield from _own("network.encoder", "network", value.name, value.encoder, config)
            yield from _settings(section, value)
        elif isinstance(value, ViewsSettings):
            yield section, value.name, True
        elif is_dataclass(value):
            yield from _settings(section, value)
        else:
            yield section, value, value != options_of(Config)[section].default
    precision = options_of(type(config.trainer))["precision"].default
    yield "precision", config.trainer.precision, config.trainer.precision != precision


def _choice(place: str, axis: str, choice: Choice, config: Config) -> Iterator[tuple[str, Any, bool]]:
    if choice:
        yield place, choice["name"], True
        yield from _own(place, axis, choice["name"], choice, config)


def _own(place: str, axis: str, name: str, values: Choice, config: Config) -> Iterator[tuple[str, Any, bool]]:
    """The options of the part of this name."""
    for own, option in options_of(part(axis, name, config.plugins, option=f"{place}.name")).items():
        value = values.get(own, option.default)
        yield f"{place}.{own}", value, value != option.default


def _settings(place: str, settings: Any) -> Iterator[tuple[str, Any, bool]]:
    for name, option in options_of(type(settings)).items():
        value = getattr(settings, name)
        yield f"{place}.{name}", value, value != option.default
    for field in fields(settings):
        if isinstance(getattr(settings, field.name), LayerSettings):
            yield from _settings(f"{place}.{field.name}", getattr(settings, field.name))


def on_data(config: Config, n_columns: int, n_encoded: int) -> Config:
    """The configuration that a cell amounts to on a table of this width before and after one-hot encoding: a corruption
    that selects nothing is none."""
    if part("selection", config.selection.get("name"), config.plugins).always_selects:
        return config
    if not part("encoding", encoding_of(config).get("name"), config.plugins).widens:
        n_encoded = n_columns

    def amounts_to(corruption: Choice) -> Choice:
        if not corruption:
            return corruption
        is_raw = part("corruption", corruption["name"], config.plugins).space == "raw"
        width = n_columns if is_raw else n_encoded
        selects = SELECTIVE not in corruption or math.floor(Fraction(repr(corruption[SELECTIVE])) * width) > 0
        return corruption if selects else {"name": "none"}

    corruption, of_cotrain = amounts_to(config.corruption), amounts_to(config.cotrain.corruption)
    if corruption is config.corruption and of_cotrain is config.cotrain.corruption:
        return config
    return replace(config, corruption=corruption, cotrain=replace(config.cotrain, corruption=of_cotrain))


def on_empty_selections(config: Config, amounting: Config) -> list[str]:
    """A sentence on each corruption of a cell that selects nothing on its data, for which it is ``amounting`` to
    another cell."""
    unused = unused_options(config)
    sentences = []
    for option, asked, used in (
        ("corruption", config.corruption, amounting.corruption),
        ("cotrain.corruption", config.cotrain.corruption, amounting.cotrain.corruption),
    ):
        if asked != used and option.partition(".")[0] not in unused:
            sentences.append(
                f"{option}.rate={asked[SELECTIVE]:g} selects no feature of this table: the cell trains, and counts, "
                f"as {option}=none."
            )
    return sentences


def labels(config: Config) -> Mapping[str, str]:
    """What people call each part that the cell uses, by axis."""
    used = {each.name: each.value for each in used_options(config)}
    return {axis: label(axis, str(used[axis]), config.plugins) for axis in BASES if axis in used} | (
        {"cotrain.task": label("pretrain", config.cotrain.task, config.plugins)} if "cotrain.task" in used else {}
    )
