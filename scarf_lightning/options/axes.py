"""The axes of an ablation, and the parts that each of them can name.

A part is registered by being a subclass with a ``name``: there is no list of parts to keep, and a configuration can
name parts only, so it runs no code.
"""

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import date
from functools import cache, lru_cache
from typing import Any, ClassVar

from ..errors import UsageError, unknown_name
from .option import Options, Part

TARGET = "_target_"
"""The option of a section that names its class, as everywhere with Hydra."""
CONFIGURATION = "scarf train --cfg job"
"""The command that shows all options of a cell."""
OURS = "scarf_lightning."
"""Begins the name of a class of this package."""


@dataclass
class Axis:
    """A group of `conf/`.

    Attributes:
        base: ``module:Class`` whose subclasses are its parts; None if its choices are settings alone.
    """

    name: str
    meaning: str
    base: str | None = None


AXES_OF_A_CELL = (
    Axis("dataset", "the table; cc18-NAME is one of the paper's 69, csv a file of yours"),
    Axis("split", "which rows train, validate and test", "scarf_lightning.data.splits:Splitting"),
    Axis("regime", "which labels training sees", "scarf_lightning.data.trials:Regime"),
    Axis("scaling", "of numeric columns", "scarf_lightning.data.preprocessing:Scaling"),
    Axis("encoding", "of categorical columns", "scarf_lightning.data.preprocessing:Encoding"),
    Axis("pretrain", "the self-supervised phase", "scarf_lightning.pretexts:Pretext"),
    Axis("corruption", "what replaces a selected feature", "scarf_lightning.corruption:Corruption"),
    Axis("selection", "which features are selected", "scarf_lightning.corruption:Selection"),
    Axis("views", "how many of a row's two views are corrupted"),
    Axis("loss", "of the pretext task", "scarf_lightning.losses:Loss"),
    Axis("method", "the supervised phase", "scarf_lightning.methods:Method"),
    Axis("cotrain", "the pretext task that method=cotrain adds"),
    Axis("network", "f, g and h", "scarf_lightning.networks:Network"),
)
AXES = (
    *AXES_OF_A_CELL,
    Axis("recipe", "named defaults: the paper's protocol, or practical ones for a table of your own"),
    Axis("debug", "a run that ends in seconds: one trial of two epochs"),
    Axis("trainer", "hardware"),
    Axis("logger", "where curves are shown, beside the results"),
    Axis("hydra/launcher", "what starts jobs: basic runs one after the other, joblib uses every core"),
)

BASES = {axis.name: axis.base for axis in AXES if axis.base is not None}
"""For each axis of parts, the class that the parts inherit from. To look them up imports torch."""

SEVERAL = {"logger"}
"""The axes that take several choices at once, as in ``logger=[csv,wandb]``."""

COLUMNS = tuple("cotrain.task" if axis.name == "cotrain" else axis.name for axis in AXES_OF_A_CELL)
"""The axes' columns in results, in the order of tables."""

OF_THE_RUN = (
    "sweeps", "vary", "max_cells", "plan", "force", "keep_weights", "keep_predictions_mb", "trials", "metric",
    "objective", "reference", "trainer", "logger", "paths", "cache", "chunk", "hydra", "recipe", "workers",
)  # fmt: skip
"""Options that decide how and where a cell is trained, and what is kept; the others decide what it is."""


class NoPretraining(Options):
    """The choice ``none`` of an axis of parts. It is no part: it trains nothing, and has no options."""

    name: ClassVar[str] = "none"
    can_cotrain: ClassVar[bool] = False


def parts(axis: str) -> dict[str, Part]:
    """The classes of the parts of an axis, by name. Most of them import torch.

    Raises:
        UsageError: two parts have one name.
    """
    return registered(BASES[axis])


def part(axis: str, name: Any, *, option: str | None = None) -> Part:
    """The class of the part of an axis with this name. The message calls the ``option`` that names it so.

    Raises:
        UsageError: there is none; the message lists those that there are.
    """
    parts_of_axis = registered(BASES[axis])
    if axis == "pretrain":
        parts_of_axis = {"none": NoPretraining, **parts_of_axis}
    if not isinstance(name, str) or name not in parts_of_axis:
        fault = f"{option or f'{axis}.name'}={name} is unknown"
        raise UsageError(
            unknown_name(fault, str(name), sorted(parts_of_axis), "the options", full_list="scarf train --help")
        )
    return parts_of_axis[name]


def target_of(cls: Part) -> str:
    """The ``_target_`` of a part, by which ``hydra.utils.instantiate`` makes it from its section."""
    return f"{cls.__module__}.{cls.__qualname__}.from_config"


def is_own(cls: Part) -> bool:
    """True if a part is one of this package, and not a user's."""
    return cls.__module__.startswith(OURS)


def field_names(cls: Part) -> frozenset[str]:
    """The names of all fields of a part: its options, and the other parts that it is made of."""
    return frozenset(field.name for field in fields(cls))


def registered(base: str) -> dict[str, Part]:
    """The subclasses of ``module:Class`` that have a name, by name; the modules of a package are imported first.

    They are looked for again only if a class of options was made since: a sweep of thousands of cells looks up hundreds
    of thousands of times.

    Raises:
        UsageError: two of them have one name.
    """
    return _registered(base, Options.n_classes)


@lru_cache
def _registered(base: str, n_classes: int) -> dict[str, Part]:
    parts_of_base: dict[str, Part] = {}
    for cls in _current(base):
        # A class without a name is a base of others.
        if not hasattr(cls, "name") or inspect.isabstract(cls):
            continue
        namesake = parts_of_base.setdefault(cls.name, cls)
        if namesake is not cls:
            raise UsageError(
                f"{cls.name} is the name of two parts, {namesake.__module__}.{namesake.__name__} and "
                f"{cls.__module__}.{cls.__name__}; give one of them another name."
            )
    return parts_of_base


def classes(axis: str) -> Iterator[Part]:
    """All classes below the base of an axis, those without a name too."""
    return _current(BASES[axis])


def _current(base: str) -> Iterator[Part]:
    """The classes below ``module:Class`` that their modules have by their names.

    A notebook that runs a cell again makes a class a second time, and the first one lives on for a while.
    """
    for cls in _subclasses(_base_class(base)):
        if getattr(sys.modules.get(cls.__module__), cls.__name__, None) is cls:
            yield cls


@cache
def _base_class(base: str) -> Any:
    """The class ``module:Class``, after all modules of a package are imported."""
    module_name, _, class_name = base.partition(":")
    module = importlib.import_module(module_name)
    # Importing a module makes its classes, which register themselves.
    for inner in pkgutil.iter_modules(getattr(module, "__path__", [])):
        importlib.import_module(f"{module_name}.{inner.name}")
    return getattr(module, class_name)


def _subclasses(base: Part) -> Iterator[Part]:
    """All classes below a class, each after its own subclasses."""
    for cls in base.__subclasses__():
        yield from _subclasses(cls)
        yield cls


def distinguishing_names(cells: Sequence[Sequence[str]]) -> list[str]:
    """A name for each of some cells, from their overrides: those that not all cells have, or ``defaults``."""
    # An option such as ``trials`` or ``+logger.mine.prefix`` makes no other cell.
    overrides = [[each for each in cell if re.split("[./=]", each.lstrip("+~"))[0] not in OF_THE_RUN] for cell in cells]
    shared = set(overrides[0]).intersection(*overrides[1:]) if len(cells) > 1 else set()
    return [" ".join(each for each in cell if each not in shared) or "defaults" for cell in overrides]


def group_of(cells: Sequence[Sequence[str]], day: date) -> str:
    """A name for the cells of a run without a sweep file: the options that vary among them, and the day."""
    words = " ".join(distinguishing_names(cells)).split()
    keys = dict.fromkeys(word.partition("=")[0] for word in words)
    return f"{', '.join(keys)} {day.isoformat()}"
