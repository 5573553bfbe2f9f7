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
from typing import Any

from ..errors import UsageError, unknown_name
from .option import Options, Part

TARGET = "_target_"
"""The option of a section that names its class, as everywhere with Hydra."""
OURS = "scarf_lightning."
"""Begins the name of a class of this package."""


@dataclass(frozen=True)
class Axis:
    """A group of `conf/`.

    Attributes:
        base: ``module:Class`` whose subclasses are its parts; None if its choices are settings alone.
        column: its column in results; None if it is no part of a cell.
    """

    name: str
    meaning: str
    base: str | None = None
    column: str | None = None


def _cell_axis(name: str, meaning: str, base: str | None = None) -> Axis:
    """An axis whose column in results has its name."""
    return Axis(name, meaning, base and f"scarf_lightning.{base}", name)


AXES = (
    _cell_axis("dataset", "the table; cc18-NAME is one of the paper's 69, csv a file of yours"),
    _cell_axis("split", "which rows train, validate and test", "data.splits:Splitting"),
    _cell_axis("regime", "which labels training sees", "data.trials:Regime"),
    _cell_axis("scaling", "of numeric columns", "data.preprocessing:Scaling"),
    _cell_axis("encoding", "of categorical columns", "data.preprocessing:Encoding"),
    _cell_axis("pretrain", "the self-supervised phase", "pretexts:Pretext"),
    _cell_axis("corruption", "what replaces a selected feature", "corruption:Corruption"),
    _cell_axis("selection", "which features are selected", "corruption:Selection"),
    _cell_axis("views", "how many of a row's two views are corrupted"),
    _cell_axis("loss", "of the pretext task", "losses:Loss"),
    _cell_axis("method", "the supervised phase", "methods:Method"),
    Axis("cotrain", "the pretext task that method=cotrain adds", column="cotrain.task"),
    _cell_axis("network", "f, g and h", "networks:Network"),
    Axis("recipe", "named defaults: the paper's protocol, or practical ones for a table of your own"),
    Axis("debug", "a run that ends in seconds: one trial of two epochs"),
    Axis("trainer", "hardware"),
    Axis("logger", "where curves are shown, beside the results"),
    Axis("hydra/launcher", "what starts jobs: basic runs one after the other, joblib uses every core"),
)

BASES = {axis.name: axis.base for axis in AXES if axis.base is not None}
"""For each axis of parts the class that they inherit from. Looking them up imports torch."""

SEVERAL = {"logger"}
"""The axes of which several choices can be made at once, as in ``logger=[csv,wandb]``."""

COLUMNS = tuple(axis.column for axis in AXES if axis.column is not None)
"""The axes' columns in results, in the order of tables."""

OF_THE_RUN = (
    "sweeps", "vary", "max_cells", "plan", "force", "keep_weights", "keep_predictions_mb", "trials", "metric",
    "objective", "reference", "trainer", "logger", "paths", "cache", "chunk", "hydra", "recipe", "workers",
)  # fmt: skip
"""Options that decide how and where a cell is trained, and what is kept; the others decide what it is."""


def parts(axis: str) -> dict[str, Part]:
    """The classes of the parts of an axis, by name. Most of them import torch.

    They are looked for again only if a class of options was made since: a sweep of thousands of cells asks hundreds of
    thousands of times.

    Raises:
        UsageError: two parts have one name.
    """
    return dict(_parts(BASES[axis], Options.n_classes))


@lru_cache
def _parts(base: str, n_classes: int) -> dict[str, Part]:
    return registered(base)


def classes(axis: str) -> Iterator[Part]:
    """All classes below the base of an axis that their modules have, those without a name too."""
    return filter(_is_current, _subclasses(_base_class(BASES[axis])))


def part(axis: str, name: Any, *, option: str | None = None) -> Part:
    """The class of the part of an axis with this name. The message calls the ``option`` that names it so.

    Raises:
        UsageError: there is none; the message lists those that there are.
    """
    known = _parts(BASES[axis], Options.n_classes)
    if not isinstance(name, str) or name not in known:
        # The one choice without a class.
        names = ["none"] * (option == "pretrain.name") + sorted(known)
        fault = f"{option or f'{axis}.name'}={name} is unknown"
        raise UsageError(unknown_name(fault, str(name), names, "the options", full_list=list_of(axis)))
    return known[name]


def label(axis: str, name: str) -> str:
    """Label of a part in tables and figures: its class's ``label``, or its name with spaces."""
    # The one choice of an axis of parts that has no class.
    if (axis, name) == ("pretrain", "none"):
        return "no pre-training"
    cls = parts(axis).get(name) if axis in BASES else None
    return getattr(cls, "label", None) or name.replace("_", " ")


def target_of(cls: Part) -> str:
    """The ``_target_`` of a part, by which ``hydra.utils.instantiate`` makes it from its section."""
    return f"{cls.__module__}.{cls.__qualname__}.from_config"


def is_own(cls: Part) -> bool:
    """True if a part is one of this package, and not a user's."""
    return cls.__module__.startswith(OURS)


def field_names(cls: Part) -> frozenset[str]:
    """The names of all fields of a part: its options, and the other parts that it is made of."""
    return frozenset(field.name for field in fields(cls))


def list_of(place: str) -> str:
    """The command that lists what can be set at a place of the configuration, such as ``network.encoder``."""
    axis = place.partition(".")[0]
    return "scarf train --help" if axis in {each.name for each in AXES} else "scarf train --cfg job"


def registered(base: str) -> dict[str, Part]:
    """The subclasses of ``module:Class`` that have a name, by name; the modules of a package are imported first.

    Raises:
        UsageError: two of them have one name.
    """
    by_name: dict[str, Part] = {}
    for cls in _subclasses(_base_class(base)):
        # A class without a name is a base of others. A class outlives a module that is imported again, in a cache.
        if not hasattr(cls, "name") or inspect.isabstract(cls) or cls.__module__ not in sys.modules:
            continue
        other = by_name.setdefault(cls.name, cls)
        # A notebook keeps the earlier classes of a name; two that their module still has are two parts.
        are_two = other is not cls and _is_current(other) and _is_current(cls)
        if other.__module__ != cls.__module__ or are_two:
            raise UsageError(
                f"{cls.name} is the name of two parts, {other.__module__}.{other.__name__} and "
                f"{cls.__module__}.{cls.__name__}; give one of them another name."
            )
        # A notebook makes a class of one module several times, perhaps below another base, and the earlier ones live on
        # for a while.
        if _is_current(cls) or not _is_current(other):
            by_name[cls.name] = cls
    return by_name


def _is_current(cls: Part) -> bool:
    """True for the class that its module has by its name."""
    return getattr(sys.modules.get(cls.__module__), cls.__name__, None) is cls


@cache
def _base_class(base: str) -> Part:
    """The class ``module:Class``, after all modules of a package are imported."""
    module_name, _, class_name = base.partition(":")
    module = importlib.import_module(module_name)
    # Importing a module makes its classes, which register themselves.
    for inner in pkgutil.iter_modules(getattr(module, "__path__", [])):
        importlib.import_module(f"{module_name}.{inner.name}")
    cls: Part = getattr(module, class_name)
    return cls


def _subclasses(base: Part) -> Iterator[Part]:
    """All classes below a class, each after its own subclasses."""
    for cls in base.__subclasses__():
        yield from _subclasses(cls)
        yield cls


def distinguishing_names(asked: Sequence[Sequence[str]]) -> list[str]:
    """A name for each of some cells, from their overrides: those that not all cells have, or ``defaults``."""
    # An option such as ``trials`` makes no other cell.
    cells = [[each for each in overrides if _makes_another_cell(each)] for overrides in asked]
    shared = set(cells[0]).intersection(*cells[1:]) if len(cells) > 1 else set()
    return [" ".join(each for each in cell if each not in shared) or "defaults" for cell in cells]


def _makes_another_cell(override: str) -> bool:
    """False for an override of the run, such as ``trials=5`` or ``+logger.mine.prefix=a``."""
    return re.split("[./=]", override.lstrip("+~"))[0] not in OF_THE_RUN


def group_of(asked: Sequence[Sequence[str]], day: date) -> str:
    """A name for the cells of a run without a sweep file: the options that vary among them, and the day."""
    names = " ".join(distinguishing_names(asked)).split()
    # Not ``defaults``, which is no override.
    keys = dict.fromkeys(name.partition("=")[0] for name in names if "=" in name)
    group = ", ".join(keys) if len(asked) > 1 and keys else "cells"
    return f"{group} {day.isoformat()}"
