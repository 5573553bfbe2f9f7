"""The classes of a module that are meant as parts, and what keeps one from being taken."""

import dataclasses
import importlib
import inspect
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from types import ModuleType
from typing import Any, ClassVar, get_origin, get_type_hints

from ..engine.blame import is_foreign
from ..losses import Loss
from ..options.axes import BASES, parts, registered
from ..options.option import Options, options_of
from .bench import FIELDS
from .source_lines import line_with, named

HINTS = {
    "replacement": "scarf_lightning.corruption.SelectiveCorruption",
    "mask": "scarf_lightning.corruption.Selection",
    "make_views": "scarf_lightning.pretexts.Pretext",
    "compute_loss": "scarf_lightning.pretexts.Pretext",
    "build": "scarf_lightning.networks.Network",
    "make_batch": "scarf_lightning.methods.SingleFitMethod",
    "forward": "scarf_lightning.losses.ContrastiveLoss, with __call__(first, second) in place of forward",
    "statistics": "scarf_lightning.data.preprocessing.Scaling",
}
"""Functions by which a class that inherits from nothing of ours gives away what it is meant to be."""
ELSEWHERE = {"weight": "method", "pretext": "method", "views": "pretrain"}
"""Fields that are filled for one kind of part."""


def bases() -> dict[str, type[Any]]:
    """The class that the parts of each kind inherit from."""
    found = dict[str, type[Any]]()
    for axis, base in BASES.items():
        # This imports all modules of the room.
        registered(base)
        module, _, name = base.partition(":")
        found[axis] = getattr(importlib.import_module(module), name)
    return found


def kind_of(cls: type[Any]) -> str | None:
    """The axis of a part; None for a class that is no part."""
    return next((kind for kind, base in bases().items() if issubclass(cls, base)), None)


def classes_of(module: ModuleType) -> Iterator[type[Any]]:
    """The classes of a module, or of the modules of a package, that are meant as parts, in their order."""
    for value in list(vars(module).values()):
        if not inspect.isclass(value) or not _is_of(value, module) or not is_foreign(value):
            continue
        # A class that others inherit from, and that has no name, is their base.
        is_base = not hasattr(value, "name") and bool(value.__subclasses__())
        has_name = isinstance(vars(value).get("name"), str)
        is_meant = kind_of(value) is not None or has_name
        if is_meant and not is_base:
            yield value


def _is_of(cls: type[Any], module: ModuleType) -> bool:
    return cls.__module__ == module.__name__ or cls.__module__.startswith(f"{module.__name__}.")


def why_not_taken(cls: type[Any]) -> str | None:
    """The sentence on a class that cannot be a part; None if it can."""
    for check in (_has_no_base, _has_no_name, _is_abstract, _is_no_dataclass, _has_untyped_option, _has_required_field,
                  _has_other_signatures, _serves_nothing):  # fmt: skip
        fault = check(cls)
        if fault is not None:
            return fault
    return None


def _has_no_base(cls: type[Any]) -> str | None:
    """It inherits from no class of an axis."""
    if kind_of(cls) is not None:
        return None
    base = next((base for function, base in HINTS.items() if function in vars(cls)), None)
    parents = ", ".join(each.__name__ for each in cls.__bases__)
    cure = f"inherit from {base}" if base else "inherit from the class of its axis: docs/plugins.md"
    return f"{named(cls)} has a name and is no part, for it inherits from {parents} alone; {cure}."


def _has_no_name(cls: type[Any]) -> str | None:
    """It has no name, or one that is no word."""
    if isinstance(getattr(cls, "name", None), str) and cls.name.strip():
        return None
    article = f"{named(cls)} is a {_noun(cls)}"
    return f'{article} without a name; add the line name: ClassVar[str] = "{cls.__name__.lower()}".'


def _is_abstract(cls: type[Any]) -> str | None:
    """A function that its kind needs is missing."""
    missing = sorted(getattr(cls, "__abstractmethods__", ()))
    if not missing:
        return None
    wanted = [f"{name}{_shown(getattr(cls, name))}" for name in missing]
    own = [name for name, value in vars(cls).items() if inspect.isfunction(value) and name not in missing]
    near = get_close_matches(missing[0], own, n=1, cutoff=0.6)
    if not near and "forward" in own:
        near = ["forward"]
    renamed = f"; rename its {near[0]}" if near else "; define it"
    return f"{named(cls)} is a {_noun(cls)} without {' and '.join(wanted)}{renamed}."


def _is_no_dataclass(cls: type[Any]) -> str | None:
    """It declares options and is no dataclass of its own."""
    if "__dataclass_fields__" in vars(cls):
        return None
    own = [name for name, hint in vars(cls).get("__annotations__", {}).items() if not _is_class_variable(hint)]
    if not own:
        return None
    return f"{named(cls)} is no dataclass, so {own[0]} is no option; write @dataclass above the class."


def _has_untyped_option(cls: type[Any]) -> str | None:
    """An attribute looks like an option and has no type."""
    known = set(dir(cls.__mro__[1])) | set(vars(cls).get("__annotations__", {}))
    for each in cls.__mro__[1:]:
        known |= set(vars(each).get("__annotations__", {}))
    for name, value in vars(cls).items():
        if name not in known and not name.startswith("_") and type(value) in (bool, int, float):
            line = line_with(cls, "", rf"^\s*{name}\s*=")
            kind = type(value).__name__
            return (
                f"{named(cls, line=line)}: {name} = {value} has no type, so it is no option; write "
                f"{name}: {kind} = {value}, or {name}: ClassVar[{kind}] = {value} for a constant."
            )
    return None


def _has_required_field(cls: type[Any]) -> str | None:
    """A field has no default, and is no other part; or its type is none that an option can have."""
    if not dataclasses.is_dataclass(cls) or not issubclass(cls, Options):
        return None
    kind = kind_of(cls)
    known = options_of(cls)
    for field in dataclasses.fields(cls):
        is_filled = field.name in FIELDS or ELSEWHERE.get(field.name) == kind
        if is_filled or field.name in known or "part" in field.metadata:
            continue
        line = line_with(cls, "", rf"^\s*{field.name}\s*:")
        type_name = getattr(field.type, "__name__", field.type)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            return (
                f"{named(cls, line=line)}: the field {field.name} has no default, so nothing fills it; write "
                f'{field.name}: {type_name} = option(DEFAULT, "what it does").'
            )
        return (
            f"{named(cls, line=line)}: {field.name} is no option, for an option is a bool, int, float, str, list or "
            f"dict, and not {type_name}; make it a ClassVar, or another type."
        )
    return None


def _has_other_signatures(cls: type[Any]) -> str | None:
    """A function takes other arguments than it is called with, or is a property in its kind and not here."""
    for name, value in vars(cls).items():
        parents = [vars(each)[name] for each in cls.__mro__[1:] if name in vars(each) and not is_foreign(each)]
        if not parents or (name.startswith("__") and name != "__call__"):
            continue
        is_property, was_property = isinstance(value, property), isinstance(parents[0], property)
        if inspect.isfunction(value) and was_property:
            return f"{named(cls, name)} is a property in its kind; write @property above it."
        if is_property and inspect.isfunction(parents[0]):
            return f"{named(cls, name)} is called with {_shown(parents[0])}; take @property away."
        own, parent = _function(value), _function(parents[0])
        if own is None or parent is None:
            continue
        if isinstance(parents[0], classmethod) != isinstance(value, classmethod):
            return f"{named(cls, name)} is a class method in its kind; write @classmethod above it."
        if not _takes(own, parent):
            return f"{named(cls, name)} takes {_shown(own)}, and is called with {_shown(parent)}; take these arguments."
    return None


def _serves_nothing(cls: type[Any]) -> str | None:
    """A loss of a kind that no pre-training takes."""
    if not issubclass(cls, Loss):
        return None
    for pretext in parts("pretrain").values():
        kind = get_type_hints(pretext).get("loss")
        if kind is not None and issubclass(cls, kind):
            return None
    return (
        f"{named(cls)} is a loss that no pre-training takes; inherit from scarf_lightning.losses.ContrastiveLoss, or "
        "from Reconstruction or Discrimination of scarf_lightning.losses.loss."
    )


def _takes(own: Callable[..., Any], parent: Callable[..., Any]) -> bool:
    """True if a function can be called as its parent is: by position, and by the name of keywords."""
    positional, keywords = list[None](), dict[str, None]()
    for name, parameter in inspect.signature(parent).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            keywords[name] = None
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            positional.append(None)
    try:
        inspect.signature(own).bind(*positional, **keywords)
    except TypeError:
        return False
    return True


def _function(value: Any) -> Callable[..., Any] | None:
    plain = getattr(value, "__func__", value)
    return plain if inspect.isfunction(plain) else None


def _shown(function: Any) -> str:
    """The arguments of a function, without self: ``(x, source, random)``; nothing for a property."""
    plain = _function(function)
    if plain is None:
        return ""
    names = [name for name in inspect.signature(plain).parameters if name not in ("self", "cls")]
    return f"({', '.join(names)})"


def _is_class_variable(hint: Any) -> bool:
    return hint is ClassVar or get_origin(hint) is ClassVar or str(hint).startswith(("ClassVar", "typing.ClassVar"))


def _noun(cls: type[Any]) -> str:
    """The kind of a class in words."""
    kind = kind_of(cls)
    return "pre-training" if kind == "pretrain" else str(kind)
