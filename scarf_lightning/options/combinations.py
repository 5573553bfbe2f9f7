"""The choices that go together, and the options that a cell uses.

A cell uses an option if another value could change its numbers. Three rules say which those are: the fields of the
chosen method, pre-training and co-training task name the axes that they need; an option that another option switches
off is not used; and an option at its default is used, but is no part of the cell's identity. The default of
``corruption.rate`` is 0.6::

    pretrain=scarf corruption.rate=0.6      used       no part of the identity, since it is the default
    pretrain=scarf corruption.rate=0.3      used       part of the identity
    pretrain=none  corruption.rate=0.3      not used   the same cell as with any other rate

So ``pretrain=none`` with five corruptions is one cell, which is trained once.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UsageError, unknown_name
from .axes import BASES, OF_THE_RUN, field_names, is_own, part
from .config import SHORTHANDS, Config, derived
from .option import Part, Values, options_of
from .settings import DEFAULT_PRECISION, Choice, DatasetSettings, FinetuneSettings, PretrainSettings

if TYPE_CHECKING:
    from ..data.targets import Target

SELECTIVE = "rate"
"""A corruption that selects features has this option; `selection` says how it does."""

NOT_SECTIONS = {*OF_THE_RUN, "dataset", "plugins", *SHORTHANDS, "split.column"}
"""Options that are not hashed under their own names: those of the run; the dataset, columns of a split and plugins,
which are hashed by content; and shorthands, which are hashed as ``pretrain.*`` and ``finetune.*``."""


MAY_AMOUNT = ("corruption", "cotrain.corruption", "finetune.label_smoothing", "finetune.fixed_below")
"""Options that on some data are as good as another value of theirs."""


def is_in(name: str, groups: Collection[str]) -> bool:
    """Tell whether an option or one of its parent groups is in ``groups``.

    >>> is_in("pretrain.curve.ties", {"pretrain.curve"})
    True
    """
    while name and name not in groups:
        name, _, _ = name.rpartition(".")
    return bool(name)


def check_combination(config: Config) -> None:
    """Refuse choices that do not go together by a `UsageError`."""
    method = config.part("method")
    if config.is_pretrained and not method.pretrainable:
        raise UsageError(
            f"method={method.name} does not go with pretrain={config.pretrain.name}: it is never pre-trained; use none."
        )
    if config.is_cotrained:
        if not part("pretrain", config.cotrain.task).can_cotrain:
            raise UsageError(f"cotrain.task={config.cotrain.task} does not go with method={method.name}; use scarf.")
        if config.finetune.freeze != "none":
            raise UsageError(
                f"finetune.freeze={config.finetune.freeze} does not go with method={method.name}, which trains f."
            )
    # The number of rows without a label in a user's file is known only once it is read.
    if config.dataset.source != "csv":
        check_labels(config, 0)


def check_target(config: Config, kind: "type[Target]") -> None:
    """Refuse a method, weights and metrics that do not serve a kind of target by a `UsageError`."""
    check_method(config, kind)
    if config.finetune.class_weight != "none" and not kind.has_classes:
        raise UsageError(
            f"finetune.class_weight={config.finetune.class_weight} does not go with dataset.target_kind={kind.name}, "
            "which has no classes to balance; leave it out."
        )
    metrics = [each.name for each in kind.metrics()]
    for option, name in (("metric", config.metric), ("finetune.metric", config.finetune.metric)):
        # None takes the kind's own.
        if name is not None and name not in metrics:
            raise UsageError(
                unknown_name(f"{option}={name} does not measure {kind.noun}", name, metrics, "their metrics")
            )


def check_method(config: Config, kind: "type[Target]") -> None:
    """Refuse a method that does not serve a kind of target by a `UsageError`."""
    method = config.part("method")
    if not kind.is_among(method.targets):
        reason = method.why_not or f"it serves {' and '.join(method.targets)}"
        raise UsageError(f"method={method.name} does not go with dataset.target_kind={kind.name}: {reason}.")


def check_labels(config: Config, n_unlabelled: int) -> None:
    """Refuse a method that needs unlabelled rows by a `UsageError`, if neither the data nor the regime has any."""
    method, regime = config.part("method"), config.part("regime")
    if method.needs_unlabelled_rows and not regime.hides_labels and not n_unlabelled:
        raise UsageError(
            f"method={method.name} does not go with regime={regime.name}: it needs unlabelled rows; "
            "use regime=few or semi25."
        )


@derived
def unused_options(config: Config) -> set[str]:
    """Dotted names of options, or of groups of them, that this cell does not use."""
    method, regime, is_cotrained = config.part("method"), config.regime, config.is_cotrained
    # The fields of a part show which axes it needs: one with a field ``loss`` is made with a loss.
    needs = field_names(method) | field_names(config.part("pretrain"))
    # The task of co-training has a corruption and a loss of its own: cotrain.corruption and cotrain.loss.
    task = field_names(part("pretrain", config.cotrain.task if is_cotrained else "none"))
    # Only some corruptions select features, such as marginal.
    selects = "corruption" in needs and SELECTIVE in config.corruption
    selects_for_task = "corruption" in task and SELECTIVE in config.cotrain.corruption
    has_network, has_finetune = "network" in method.uses, "finetune" in method.uses
    unused = _where_true(
        {
            "corruption": "corruption" not in needs,
            "loss": "loss" not in needs,
            "views": "views" not in needs | task,
            "selection": not selects and not selects_for_task,
            "cotrain": not is_cotrained,
            "cotrain.corruption": is_cotrained and "corruption" not in task,
            "cotrain.loss": is_cotrained and "loss" not in task,
            "regime.validation_share": "validation_share" in regime
            and (regime["validation"] != "inside" or config.watched_from == math.inf),
            "network encoding": not has_network,
            # g serves pretext tasks alone.
            "network.pretrain_head": has_network and not config.is_pretrained and not is_cotrained,
            "network.head": has_network and not has_finetune,
        }
    )
    if has_finetune:
        unused |= _idle_options(config, "finetune")
    else:
        unused |= {f"finetune.{name}" for name in field_names(FinetuneSettings)}.difference(method.uses)
    if config.is_pretrained:
        return unused | _idle_options(config, "pretrain")
    unused |= {f"pretrain.{name}" for name in field_names(PretrainSettings) - {"name"}}
    # A shorthand such as ``max_epochs`` then sets the option of the supervised phase alone.
    return unused | {name for name in SHORTHANDS if f"finetune.{name}" in unused}


def _where_true(idle: Mapping[str, bool], place: str = "") -> set[str]:
    """The names whose value is true; several are in one text."""
    return {f"{place}{name}" for names, is_idle in idle.items() if is_idle for name in names.split()}


def _idle_options(config: Config, phase: str) -> set[str]:
    """The options of a phase that do nothing beside the method and the other options."""
    settings = getattr(config, phase)
    idle = {
        # Nothing is validated then.
        "patience restore_best validate_every ties": settings.monitor == "none",
        "max_epochs": settings.max_steps is not None,
        "decayed weight_decay_schedule": settings.weight_decay == 0,
    }
    if phase == "finetune":
        smooths, is_watched = config.part("method").smooths_labels, settings.watched_metric is not None
        idle |= {
            # A metric that is watched takes the place of the monitor.
            "monitor": is_watched,
            "metric": settings.metric is not None and not is_watched,
            "fixed_steps": bool(config.folds_on(0)) or not settings.fixed_below,
            "folds": not config.may_fold,
            "fold_steps fold_every fold_average fold_caution": not (config.may_fold and settings.folds),
            "label_smoothing": smooths,
            "label_smoothing_schedule": smooths or settings.label_smoothing == 0,
        }
    return _where_true(idle, f"{phase}.")


class UsedOption(NamedTuple):
    """An option that a cell uses.

    Attributes:
        name: its dotted name, such as ``corruption.rate``.
        value: that it has.
        differs: whether the value differs from the part's default. The name of a part, such as ``corruption``, counts
            as an option that always differs, unless it goes without saying.
        axis: of the part that it names; empty if it names no part.
        own: the class of that part if it is a user's own.
    """

    name: str
    value: Any
    differs: bool
    axis: str = ""
    own: Part | None = None


@derived
def used_options(config: Config) -> Sequence[UsedOption]:
    """The options that decide a cell's numbers, in the order of the configuration.

    They are kept with the configuration, which is never changed once it is made. A copy may be changed, so it lacks
    them; that of `with_dataset` shares them.
    """
    unused = unused_options(config)
    # Of the hardware options, only the precision changes numbers by more than rounding.
    precision = config.trainer.precision
    options = [
        *_options_in(Config, vars(config), ""),
        UsedOption("precision", precision, precision != DEFAULT_PRECISION),
    ]
    return [each for each in options if not is_in(each.name, unused)]


@derived
def pretraining_options(config: Config) -> Sequence[UsedOption]:
    """The options that decide the numbers of a cell's pre-training: none of its method, and of labels only if it sees
    them.

    One pre-training serves every method and regime, unless it depends on labels: then it depends on the regime, and
    with ``validation=inside`` on how many labels are left to train.
    """
    options = used_options(replace(config, method={"name": "control"}))
    learns, probes = config.is_pretrained and config.part("pretrain").uses_labels, config.pretrain.probe
    unused = _where_true(
        {"regime method cotrain finetune": True, "network.head": not learns, "pretrain.probe": not probes}
    )
    used = [each for each in options if not is_in(each.name, unused)]
    if learns or probes:
        # Whether the validation share is used depends on the cell's own method.
        used += [each for each in used_options(config) if is_in(each.name, ["regime"])]
        if config.regime.get("validation") == "inside":
            used.append(UsedOption("watched from", str(config.watched_from), True))
    return used


def with_dataset(config: Config, dataset: DatasetSettings) -> Config:
    """The configuration on another dataset, which uses the same options."""
    # What follows from the options does not depend on the dataset, so a sweep over datasets finds it once.
    twin = copy(config)
    twin.dataset = dataset
    twin.derived = config.derived
    return twin


def _options_in(cls: Part, values: Values, place: str) -> Iterator[UsedOption]:
    """The options of a class with these values, of the parts that they name, and of the groups in them."""
    lines, named_part = options_of(cls), cls.named_part
    if named_part is not None:
        name, axis = named_part
        choice = {**values[cls.rest], "name": values[name]}
        yield from _part_options(_full(place, name).removesuffix(".name"), axis, choice, cls.place_of_rest(place))
    for field in fields(cls):
        full, line = _full(place, field.name), lines.get(field.name)
        value = values.get(field.name, line and line.default)
        if full in NOT_SECTIONS:
            continue
        if line is not None:
            # Settings that are the choice of an axis have the axis' name.
            yield UsedOption(full.removesuffix(".name"), value, field.name == "name" or value != line.default)
        elif is_dataclass(value):
            yield from _options_in(type(value), vars(value), full)
        elif field.name in BASES and value:
            yield from _part_options(full, field.name, value, full)


def _part_options(option: str, axis: str, choice: Choice, place: str) -> Iterator[UsedOption]:
    """The option that names a part, and the part's own options."""
    cls = part(axis, choice["name"])
    yield UsedOption(option, choice["name"], True, axis, None if is_own(cls) else cls)
    yield from _options_in(cls, choice, place)


@cache
def _full(place: str, name: str) -> str:
    """The dotted name of an option, one object for the ten thousand cells of a sweep."""
    return f"{place}.{name}".removeprefix(".")


def fit_to_target(config: Config, kind: "type[Target]") -> Config:
    """The configuration for a kind of target: numbers have no label smoothing, and may have less ``fixed_below``."""
    # Cells that differ only in what this kind does not use must become equal, or they would be trained twice.
    settings, changes = config.finetune, dict[str, Any]()
    bound = settings.fixed_below_numbers
    if bound is not None:
        # For either kind, one of the two lengths applies.
        changes["fixed_below_numbers"] = None
        # Folds stop a network before it fits each number.
        if not kind.has_classes and not config.folds_on(0):
            changes["fixed_below"] = min(settings.fixed_below, bound)
    if settings.label_smoothing and not kind.has_classes:
        changes["label_smoothing"] = 0.0
    return replace(config, finetune=replace(settings, **changes)) if changes else config


def fit_to_data(config: Config, n_columns: int, n_encoded: int) -> Config:
    """The configuration with ``none`` in place of a corruption if floor(rate * M) is 0 for this table.

    Args:
        n_columns: M of corruptions of the table's columns.
        n_encoded: M of corruptions of encoded columns.
    """
    # Such a selection takes one feature at least, whatever the rate.
    if config.part("selection").always_selects:
        return config
    if not part("encoding", config.used_encoding.get("name")).widens:
        n_encoded = n_columns

    def selects_nothing(corruption: Choice) -> bool:
        width = n_columns if part("corruption", corruption.get("name", "none")).space == "raw" else n_encoded
        # Exactly: 0.7 * 180 is below 126 in floating point.
        return SELECTIVE in corruption and Fraction(repr(corruption[SELECTIVE])) * width < 1

    if selects_nothing(config.corruption):
        config = replace(config, corruption={"name": "none"})
    if selects_nothing(config.cotrain.corruption):
        config = replace(config, cotrain=replace(config.cotrain, corruption={"name": "none"}))
    return config


def no_effect_sentences(config: Config, amounting: Config, of_recipe: Values) -> list[str]:
    """A sentence on each option of a cell that counts as another on its data, because of `fit_to_data` or
    `fit_to_target`, unless the recipe sets it.

    Args:
        config: the cell as the user set it.
        amounting: the cell as it is trained.
        of_recipe: the options that the recipe sets.
    """
    trained_values = {each.name: each.value for each in used_options(amounting)}
    return [
        f"{name}={value} does nothing on these data: the cell trains, and counts, as {name}={trained_values[name]}."
        for name, value, *_ in used_options(config)
        if name in MAY_AMOUNT and value not in (trained_values[name], of_recipe.get(name))
    ]
