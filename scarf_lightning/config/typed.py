"""From composed configuration to checked dataclasses, with one clear sentence for whatever is wrong."""

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_origin, get_type_hints

from hydra.errors import MissingConfigException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigKeyError, OmegaConfBaseException

from ..errors import UsageError, did_you_mean

T = TypeVar("T")


def typed(schema: type[T], node: DictConfig, path: str = "") -> T:
    """Read ``node`` as the dataclass ``schema``; ``path`` is where in the configuration it stands.

    Raises:
        UsageError: an option is unknown or missing, of a wrong type or out of range; the valid ones are named.
    """
    structure = OmegaConf.structured(schema)
    OmegaConf.set_readonly(structure, False)
    try:
        _check_leaves(node, path)
        _check_groups(schema, node, path)
        merged = OmegaConf.merge(structure, node)
        assert isinstance(merged, DictConfig)
        _check_ranges(merged, path)
        value = OmegaConf.to_object(merged)
    except ConfigKeyError as error:
        raise UsageError(_unknown_option(error, schema, path)) from error
    except OmegaConfBaseException as error:
        option = _join(path, error.full_key or "")
        if "is not a ListConfig" in str(error):
            raise UsageError(f"{option} must be a list, as in {option}=[a,b].") from error
        raise UsageError(f"{option}: {str(error).splitlines()[0].removesuffix('.')}.") from error
    assert isinstance(value, schema)
    return value


def explain(error: BaseException) -> str:
    """One sentence on an error of Hydra's or OmegaConf's, naming the options that exist where one is unknown."""
    if isinstance(error, MissingConfigException) and error.options and error.missing_cfg_file:
        group, _, name = error.missing_cfg_file.rpartition("/")
        options = error.options
        said = f"{group}={name} is not an option; the options of {group} are: {', '.join(options)}."
        return said + did_you_mean(name, options)
    cause = error.__cause__
    if isinstance(cause, OmegaConfBaseException) and isinstance(cause.parent_node, DictConfig):
        known = [str(key) for key in cause.parent_node if key != "hydra"]
        full = str(cause.full_key)
        said = f"{full} is not an option; {_where(full)} are: {', '.join(known)}."
        return said + did_you_mean(full.rpartition(".")[2], known)
    message = str(error) if cause is None else f"{error} {cause}"
    return " ".join(message.split())


def _where(full_key: str) -> str:
    parent = full_key.rpartition(".")[0]
    return f"the options of {parent}" if parent else "the options"


def _join(*parts: str) -> str:
    return ".".join(part for part in parts if part)


def _unknown_option(error: ConfigKeyError, schema: type[Any], path: str) -> str:
    *groups, _ = (error.full_key or "").split(".")
    for group in groups:
        schema = get_type_hints(schema)[group]
    full = _join(path, error.full_key or "")
    said = f"{full} is not an option; {_where(full)} are: {_names(schema) or 'none'}."
    return said + did_you_mean(full.rpartition(".")[2], [field.name for field in fields(schema)])


def _names(schema: type[Any]) -> str:
    return ", ".join(field.name for field in fields(schema))


def _check_leaves(node: DictConfig, path: str) -> None:
    """Refuse references to nothing, and numbers that are none: they would compare, hash and train as nonsense."""
    for option, value in _leaves(node):
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"{_join(path, option)} must be a finite number, not {value}.")


def _check_groups(schema: type[Any], node: DictConfig, path: str) -> None:
    """Every group of options must be there, and be one."""
    for name, kind in get_type_hints(schema).items():
        if not is_dataclass(kind) and get_origin(kind) is not dict:
            continue
        full = _join(path, name)
        if name not in node and _is_required(schema, name):
            raise UsageError(f"{full} is missing; leave it at its default, or choose one with {full}=NAME.")
        if name in node and not isinstance(node[name], DictConfig):
            names = f" ({_names(kind)})" if is_dataclass(kind) and isinstance(kind, type) else ""
            raise UsageError(f"{full} is a group of options{names}; it cannot be {node[name]}.")


def _is_required(schema: type[Any], name: str) -> bool:
    field = next(field for field in fields(schema) if field.name == name)
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _leaves(node: DictConfig, path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in node.items():
        option = _join(path, str(key))
        if isinstance(value, DictConfig):
            yield from _leaves(value, option)
        else:
            yield option, value


def _check_ranges(merged: DictConfig, path: str) -> None:
    """Construct inner dataclasses first, so that a refused value is named with its whole path."""
    schema = OmegaConf.get_type(merged)
    if schema is None or schema is dict:
        return
    for field in fields(schema):
        child = merged[field.name]
        if isinstance(child, DictConfig):
            _check_ranges(child, _join(path, field.name))
    try:
        OmegaConf.to_object(merged)
    except UsageError:
        raise
    except ValueError as error:
        raise UsageError(f"{_join(path, str(error))}.") from error
