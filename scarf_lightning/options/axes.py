"""The axes of an ablation, and the parts that each of them can name.

A part is registered by being a subclass with a ``name``: there is no list of parts to keep, and a configuration can
name parts only, so it runs no code.
"""

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..errors import UsageError, did_you_mean
from .option import Options
from .plugins import load_plugins


@dataclass(frozen=True)
class Axis:
    """A group of `conf/`.

    Attributes:
        name: of the group.
        meaning: what it chooses.
        base: ``module:Class`` whose subclasses are its parts; None where its choices are settings alone.
        column: its column in results; None for what is no part of a cell.
    """

    name: str
    meaning: str
    base: str | None = None
    column: str | None = None


def _of_a_cell(name: str, meaning: str, base: str | None = None) -> Axis:
    return Axis(name, meaning, base and f"scarf_lightning.{base}", name)


AXES = (
    _of_a_cell("dataset", "the table; cc18-NAME is one of the paper's 69, csv a file of yours"),
    _of_a_cell("split", "which rows train, validate and test", "data.splits:Splitting"),
    _of_a_cell("regime", "which labels training sees", "data.regimes:Regime"),
    _of_a_cell("scaling", "of numeric columns", "data.scaling:Scaling"),
    _of_a_cell("encoding", "of categorical columns", "data.encoding:Encoding"),
    _of_a_cell("pretrain", "the self-supervised phase", "pretexts:Pretext"),
    _of_a_cell("corruption", "what replaces a selected feature", "corruption:Corruption"),
    _of_a_cell("selection", "which features are selected", "corruption:Selection"),
    _of_a_cell("views", "how many of a row's two views are corrupted"),
    _of_a_cell("loss", "of the pretext task", "losses:Loss"),
    _of_a_cell("method", "the supervised phase", "methods:Method"),
    Axis("cotrain", "the pretext task that method=cotrain adds", column="cotrain.task"),
    _of_a_cell("network", "f, g and h", "networks:Network"),
    Axis("recipe", "named defaults: the paper's protocol, or practical ones for a table of your own"),
    Axis("trainer", "hardware"),
    Axis("logger", "where curves are shown, beside the results"),
    Axis("hydra/launcher", "what starts jobs: basic runs one after the other, joblib uses every core"),
)

BASES = {axis.name: axis.base for axis in AXES if axis.base is not None}
"""For each axis of parts the class that they inherit from. Looking them up imports torch."""

COLUMNS = tuple(axis.column for axis in AXES if axis.column is not None)
"""The axes' columns in results, in the order of tables."""

OF_THE_RUN = (
    "sweeps", "plan", "time_limit", "force", "keep_weights", "keep_predictions_mb", "trials", "metric", "objective",
    "trainer", "logger", "paths", "cache", "chunk", "hydra", "recipe",
)  # fmt: skip
"""Options of how, where and what of a cell is trained and kept; the others decide what it is."""


def parts(axis: str, plugins: Sequence[str] = ()) -> dict[str, type[Any]]:
    """The parts of an axis by name; the plugins are imported first.

    Raises:
        UsageError: there is no such plugin, or two parts have one name.
    """
    load_plugins(plugins)
    return registered(BASES[axis])


def part(axis: str, name: Any, plugins: Sequence[str] = (), *, option: str | None = None) -> type[Any]:
    """The part of an axis with this name. The message calls the ``option`` that names it so.

    Raises:
        UsageError: there is none; the message lists those that there are.
    """
    known = parts(axis, plugins)
    if not isinstance(name, str) or name not in known:
        listed = ", ".join(["none", *sorted(known)] if option == "pretrain.name" else sorted(known))
        raise UsageError(
            f"{option or axis + '.name'}={name} is unknown; the options are: {listed}.{did_you_mean(str(name), known)}"
        )
    return known[name]


def registered(base: str) -> dict[str, type[Any]]:
    """The subclasses of ``module:Class`` that have a name, by name; the modules of a package are imported first.

    They are looked for again after a class of options was made or a module taken out, because a sweep of thousands of
    cells asks hundreds of thousands of times.

    Raises:
        UsageError: two of them have one name.
    """
    n_classes, found, modules = _registered.get(base, (-1, {}, set()))
    is_counted = issubclass(_base_class(base), Options)
    if not (is_counted and n_classes == Options.n_classes and modules <= sys.modules.keys()):
        found = _found(base)
        _registered[base] = Options.n_classes, found, {cls.__module__ for cls in found.values()}
    return dict(found)


_registered: dict[str, tuple[int, dict[str, type[Any]], set[str]]] = {}
"""For each base the number of classes when its subclasses were found, these, and their modules."""


def _found(base: str) -> dict[str, type[Any]]:
    found: dict[str, type[Any]] = {}
    for cls in _named_subclasses(_base_class(base)):
        other = found.setdefault(cls.name, cls)
        if other.__module__ != cls.__module__:
            raise UsageError(
                f"{cls.name} is the name of two parts, {other.__module__}.{other.__name__} and "
                f"{cls.__module__}.{cls.__name__}; give one of them another name."
            )
        found[cls.name] = cls  # of two versions of one module, as a notebook makes them, the later one
    return found


@cache
def _base_class(base: str) -> type[Any]:
    module_name, _, class_name = base.partition(":")
    module = importlib.import_module(module_name)
    for found in pkgutil.iter_modules(getattr(module, "__path__", [])):
        importlib.import_module(f"{module_name}.{found.name}")
    cls: type[Any] = getattr(module, class_name)
    return cls


def _named_subclasses(base: type[Any]) -> list[type[Any]]:
    found = []
    for cls in base.__subclasses__():
        found += _named_subclasses(cls)
        is_part = hasattr(cls, "name") and not inspect.isabstract(cls)  # a class without a name is a base of others
        # A class outlives a module that is taken out to be imported again, for instance in a cache.
        if is_part and cls.__module__ in sys.modules:
            found.append(cls)
    return found


def label(axis: str, name: str, plugins: Sequence[str] = ()) -> str:
    """What people call a part in tables and figures: its class's ``label``, or its name with spaces."""
    if (axis, name) == ("pretrain", "none"):  # the one choice of an axis of parts that has no class
        return "no pre-training"
    cls = parts(axis, plugins).get(name) if axis in BASES else None
    return str(getattr(cls, "label", None) or name.replace("_", " "))
