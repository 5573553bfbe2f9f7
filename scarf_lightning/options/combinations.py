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
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UsageError, unknown_name
from .axes import BASES, COLUMNS, OF_THE_RUN, field_names, is_own, label, list_of, part, parts
from .config import SHORTHANDS, Config, derived
from .option import Options, options_of
from .settings import Choice, DatasetSettings, FinetuneSettings, FitSettings, PretrainSettings

if TYPE_CHECKING:
    from ..data.targets import Target

SELECTIVE = "rate"
"""A corruption that selects features has this option; `selection` says how it does."""

SPLIT_BY = ("split.column", "split.validation", "split.test")
NOT_SECTIONS = {*OF_THE_RUN, "dataset", "plugins", *SHORTHANDS, *SPLIT_BY}
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
    name = config.method.get("name")
    regime = config.regime.get("name")
    method = config.part("method")
    if config.is_pretrained:
        # Looked up first: an unknown name has its own error.
        config.part("pretrain")
        if not method.pretrainable:
            raise UsageError(
                f"method={name} does not go with pretrain={config.pretrain.name}: it is never pre-trained; use none."
            )
    if config.is_cotrained:
        tasks = sorted(task for task, each in parts("pretrain").items() if each.can_cotrain)
        if config.cotrain.task not in tasks:
            fault = f"cotrain.task cannot be {config.cotrain.task}"
            raise UsageError(unknown_name(fault, config.cotrain.task, tasks, "the tasks", full_list=list_of("cotrain")))
        if config.finetune.freeze != "none":
            raise UsageError(
                f"finetune.freeze={config.finetune.freeze} does not go with method={name}, which trains f."
            )
    # Only reading a file tells whether it has rows without a label, see `check_labels`.
    is_of_user = config.dataset.source == "csv"
    may_have_unlabelled_rows = config.part("regime").hides_labels or is_of_user
    if method.needs_unlabelled_rows and not may_have_unlabelled_rows:
        hiding = sorted(regime for regime, each in parts("regime").items() if each.hides_labels)
        raise UsageError(
            f"method={name} does not go with regime={regime}: it needs unlabelled rows; use {', '.join(hiding)}."
        )


def check_target(config: Config, kind: "type[Target]") -> None:
    """Refuse a method, weights and metrics that do not serve a kind of target by a `UsageError`."""
    check_method(config, kind)
    if config.finetune.class_weight != "none" and not kind.can_balance:
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
        why = method.why_not or f"it serves {' and '.join(method.targets)}"
        raise UsageError(f"method={method.name} does not go with dataset.target_kind={kind.name}: {why}.")


def check_labels(config: Config, n_unlabelled: int) -> None:
    """Refuse a method that needs unlabelled rows by a `UsageError`, if neither loaded data nor the regime has any."""
    if config.part("method").needs_unlabelled_rows and not config.part("regime").hides_labels and not n_unlabelled:
        raise UsageError(
            f"method={config.method['name']} needs unlabelled rows, and every row of {config.dataset.path} has a "
            "label; use regime=semi25 or few, or dataset.unlabelled=FILE."
        )


def unused_options(config: Config) -> set[str]:
    """Dotted names of options, or of groups of them, that this cell does not use."""
    method, regime = config.part("method"), config.regime
    # A part says by its fields which axes it needs: one with a field ``loss`` is made with a loss.
    own = field_names(method) | (field_names(config.part("pretrain")) if config.is_pretrained else frozenset())
    # The task of co-training has a corruption and a loss of its own: cotrain.corruption and cotrain.loss.
    task = frozenset[str]()
    if config.is_cotrained:
        task = field_names(part("pretrain", config.cotrain.task, option="cotrain.task"))
    corruptions = [config.corruption] * ("corruption" in own) + [config.cotrain.corruption] * ("corruption" in task)
    has_network, has_finetune = "network" in method.uses, "finetune" in method.uses
    unused = _where_true(
        {
            "corruption": "corruption" not in own,
            "loss": "loss" not in own,
            "views": "views" not in own | task,
            # Only some corruptions select features, such as marginal.
            "selection": not any(SELECTIVE in corruption for corruption in corruptions),
            "cotrain": not config.is_cotrained,
            "cotrain.corruption": config.is_cotrained and "corruption" not in task,
            "cotrain.loss": config.is_cotrained and "loss" not in task,
            "regime.validation_share": "validation_share" in regime
            and (regime["validation"] != "inside" or config.watched_from == math.inf),
            "network encoding": not has_network,
            # g serves pretext tasks alone.
            "network.pretrain_head": has_network and not config.is_pretrained and not config.is_cotrained,
            "network.head": has_network and not has_finetune,
        }
    )
    if has_finetune:
        unused |= _idle_in("finetune", config.finetune) | _idle_of_labels(config)
    else:
        unused |= {f"finetune.{name}" for name in field_names(FinetuneSettings)}.difference(method.uses)
    if config.is_pretrained:
        return unused | _idle_in("pretrain", config.pretrain)
    unused |= {f"pretrain.{name}" for name in field_names(PretrainSettings) - {"name"}}
    # A shorthand such as ``max_epochs`` then sets the option of the supervised phase alone.
    return unused | {name for name in SHORTHANDS if f"finetune.{name}" in unused}


def _where_true(idle: Mapping[str, bool], place: str = "") -> set[str]:
    """The names whose value is true; several are in one text."""
    return {f"{place}{name}" for names, is_idle in idle.items() if is_idle for name in names.split()}


def _idle_in(phase: str, settings: FitSettings) -> set[str]:
    """The options of a phase that do nothing beside its other options."""
    idle = {
        # Nothing is validated then.
        "patience restore_best validate_every ties": settings.monitor == "none",
        "max_epochs": settings.max_steps is not None,
        "decayed weight_decay_schedule": settings.weight_decay == 0,
    }
    return _where_true(idle, f"{phase}.")


def _idle_of_labels(config: Config) -> set[str]:
    """The options of the supervised phase that do nothing beside the method and the other options."""
    settings, smooths = config.finetune, config.part("method").smooths_labels
    is_watched = settings.watched_metric is not None
    is_fixed = bool(settings.fixed_below or settings.fixed_below_numbers)
    idle = {
        # A metric that is watched takes the place of the monitor.
        "monitor": is_watched,
        "metric": settings.metric is not None and not is_watched,
        "fixed_steps": bool(config.folds_on(0)) or not is_fixed,
        "folds": not config.may_fold,
        "fold_steps": not (config.may_fold and settings.folds),
        "label_smoothing": smooths,
        "label_smoothing_schedule": smooths or settings.label_smoothing == 0,
    }
    return _where_true(idle, "finetune.")


class UsedOption(NamedTuple):
    """An option that a cell uses.

    Attributes:
        name: its dotted name, such as ``corruption.rate``.
        value: that it has.
        differs: whether the value differs from the part's default. The name of a part, such as ``corruption``, counts
            as an option that always differs, unless it goes without saying.
    """

    name: str
    value: Any
    differs: bool


@derived
def used_options(config: Config) -> Sequence[UsedOption]:
    """The options that decide a cell's numbers, in the order of the configuration.

    They are kept with the configuration, which is never changed once it is made. A copy may be changed, so it lacks
    them; that of `with_dataset` shares them.
    """
    unused = unused_options(config)
    used = []
    for name, value, differs in _options(config):
        if not is_in(name, unused):
            # Ten thousand cells share the names.
            used.append(UsedOption(sys.intern(name), value, differs))
    return used


def own_parts(config: Config) -> list[tuple[str, type[Any]]]:
    """The parts of a user's own that a cell uses, each with its axis."""
    own = []
    for name, value, _ in used_options(config):
        axis = part_axis(name)
        # Pre-training alone has a choice without a class.
        if axis is not None and (axis, value) != ("pretrain", "none") and not is_own(part(axis, value)):
            own.append((axis, part(axis, value)))
    return own


def with_dataset(config: Config, dataset: DatasetSettings) -> Config:
    """The configuration on another dataset, which uses the same options."""
    # What follows from the options does not depend on the dataset, so a sweep over datasets finds it once.
    other = copy(config)
    other.dataset = dataset
    other.derived = config.derived
    return other


def part_axis(option: str) -> str | None:
    """The axis whose part an option names, as ``cotrain.loss`` names one of ``loss``; None if it names no part."""
    if option == "cotrain.task":
        return "pretrain"
    axis = option.removeprefix("cotrain.")
    return axis if axis in BASES else None


def _options(config: Config) -> Iterator[tuple[str, Any, bool]]:
    """All options of a configuration, see `UsedOption`."""
    yield from _options_in(config, "")
    # Of the hardware the precision alone changes numbers by more than rounding.
    precision = options_of(type(config.trainer))["precision"].default
    yield "precision", config.trainer.precision, config.trainer.precision != precision


def _options_in(settings: Options, place: str) -> Iterator[tuple[str, Any, bool]]:
    """The options of settings, of the parts that they name, and of the groups in them."""
    known = options_of(type(settings))
    named = settings.named_part
    if named is not None:
        option = place if named.name == "name" else f"{place}.{named.name}"
        name = getattr(settings, named.name)
        values = getattr(settings, named.options)
        yield from _part_options(option, named.axis, name, values, named.place_in(place))
    for field in fields(settings):
        full = f"{place}.{field.name}".removeprefix(".")
        value = getattr(settings, field.name)
        if full in NOT_SECTIONS:
            continue
        # Settings that are the choice of an axis have the axis' name.
        if field.name in known and field.name == "name":
            yield place, value, True
        elif field.name in known:
            yield full, value, value != known[field.name].default
        elif is_dataclass(value):
            yield from _options_in(value, full)  # type: ignore[arg-type]
        elif field.name in BASES and value:
            yield from _part_options(full, field.name, value["name"], value, full)


def _part_options(option: str, axis: str, name: str, values: Choice, place: str) -> Iterator[tuple[str, Any, bool]]:
    """The option that names a part, and the part's own options."""
    yield option, name, True
    # The one choice without a class.
    if (option, name) == ("pretrain", "none"):
        return
    for own in options_of(part(axis, name, option=option)).values():
        full = f"{place}.{own.name}"
        value = values.get(own.name, own.default)
        if full not in NOT_SECTIONS:
            yield full, value, value != own.default


def fit_to_target(config: Config, kind: "type[Target]") -> Config:
    """The configuration for a kind of target: numbers have no label smoothing, and may have less ``fixed_below``."""
    # Cells that differ only in what this kind does not use must become equal, or they would be trained twice.
    settings = config.finetune
    numbers_bound = settings.fixed_below_numbers
    # Folds stop a network before it fits each number.
    if numbers_bound is not None and not kind.can_smooth and not config.folds_on(0):
        settings = replace(settings, fixed_below=min(settings.fixed_below, numbers_bound))
    if numbers_bound is not None:
        # Whichever kind it is, one of both lengths is in force.
        settings = replace(settings, fixed_below_numbers=None)
    if settings.label_smoothing and not kind.can_smooth:
        settings = replace(settings, label_smoothing=0.0)
    return config if settings is config.finetune else replace(config, finetune=settings)


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

    def as_trained(corruption: Choice) -> Choice:
        """The corruption, or ``none`` if it selects nothing."""
        if SELECTIVE not in corruption:
            return corruption
        width = n_encoded
        if part("corruption", corruption["name"]).space == "raw":
            width = n_columns
        # Exactly: 0.7 * 180 is below 126 in floating point.
        rate = Fraction(repr(corruption[SELECTIVE]))
        if math.floor(rate * width) > 0:
            return corruption
        return {"name": "none"}

    corruption = as_trained(config.corruption)
    cotrain_corruption = as_trained(config.cotrain.corruption)
    if corruption is config.corruption and cotrain_corruption is config.cotrain.corruption:
        return config
    return replace(config, corruption=corruption, cotrain=replace(config.cotrain, corruption=cotrain_corruption))


def no_effect_sentences(config: Config, amounting: Config, of_recipe: Mapping[str, Any] | None = None) -> list[str]:
    """A sentence on each option of a cell that counts as another on its data, because of `fit_to_data` or
    `fit_to_target`, unless the recipe asked for it.

    Args:
        config: the cell as it was asked for.
        amounting: the cell as it is trained.
        of_recipe: the options that the recipe sets.
    """
    of_recipe = of_recipe or {}
    trained = {each.name: each.value for each in used_options(amounting)}
    sentences = []
    for name, value, _ in used_options(config):
        if name in MAY_AMOUNT and trained[name] != value and of_recipe.get(name) != value:
            sentences.append(
                f"{name}={value} does nothing on these data: the cell trains, and counts, as {name}={trained[name]}."
            )
    return sentences


@derived
def labels(config: Config) -> Mapping[str, str]:
    """The name for people of each part that the cell uses, by the column of its axis."""
    names = {}
    for each in used_options(config):
        axis = part_axis(each.name)
        if each.name in COLUMNS and axis is not None:
            names[each.name] = label(axis, each.value)
    return names
