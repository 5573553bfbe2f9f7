"""From overrides to checked configurations, by Hydra's own `compose`.

A user writes overrides, from Python as values, and Hydra reads them. It takes a tenth of a second to compose a
configuration, so it composes the choices of a setting once: values such as ``seed=3`` are put in, and the dataset last.
"""

import json
import re
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from hydra import __version__, compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override, Quote, QuotedString, Sweep
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import MISSING, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from ..errors import UsageError, did_you_mean, unknown_name
from ..options import BASES, Config, checked, load_plugins, options_of, read
from ..options.axes import AXES, SEVERAL, TARGET, is_own, part, parts, target_of
from ..options.checking import unknown_option
from ..options.combinations import with_dataset
from ..options.config import within_max_epochs
from ..options.settings import DatasetSettings
from .folders import CONF, content_of, flat, recipe_options

OF_TODAY: Any = {"version_base": "1.3"} if __version__.startswith("1.3.") else {}
"""The argument without which Hydra 1.3 behaves as version 1.1 did. Version 1.4 warns of it."""
GROUPS = {axis.name for axis in AXES}
PLAIN_TEXT = re.compile(r"(?!(null|true|false|nan|inf)$)[a-z_./][\w./-]*", re.ASCII | re.IGNORECASE)
"""A text that Hydra reads as one without quotes."""
UNKNOWN = (ConfigKeyError, ConfigAttributeError)
ERRORS = (HydraException, OmegaConfBaseException, yaml.YAMLError, ValueError)
"""The errors that composing may end in; Hydra has no error of its own for a file that it cannot read."""
NEVER_SCALED = {28, 1468, 4134}
"""OpenML datasets that the paper does not scale (section 4, "Dataset pre-processing")."""
MEETS_DATASET = re.compile(r"^[+~]|@|\$|=by_data/|^scaling[.]|^dataset[./=]")
"""Overrides that may refer to the dataset, or change a part of it or of the scaling that its file chooses."""
_one_thread = threading.RLock()
"""Held by the thread that has started Hydra: its instance is that of the whole process."""

Overrides = tuple[str, ...]
Setting = tuple[Config, Mapping[str, UsageError]]
"""The options of a cell, and the overrides of options that its parts do not have, each with its refusal."""


def overrides_of(sweep: str | Sequence[str], more: Sequence[str]) -> list[str]:
    """Overrides from Python, where a sweep may be named without ``sweeps=``."""
    words = [sweep] if isinstance(sweep, str) else sweep
    return [each if "=" in each else f"sweeps={each}" for each in map(str, (*words, *more))]


def overrides_of_options(options: Mapping[str, Any]) -> list[str]:
    """The overrides that set options given as a dictionary, of which some may be left out.

    >>> overrides_of_options({"corruption": {"name": "mean", "rate": 0.3}, "batch_size": 64})
    ['corruption=mean', 'corruption.rate=0.3', 'batch_size=64']
    """
    # A part is chosen by its section's name.
    return [f"{name.removesuffix('.name')}={hydra_text(value)}" for name, value in flat(options)]


def hydra_text(value: Any) -> str:
    """A plain value as Hydra's grammar writes it, texts in quotes where they need them.

    >>> hydra_text([None, "b c", True])
    "[null,'b c',true]"
    """
    if isinstance(value, list):
        return f"[{','.join(map(hydra_text, value))}]"
    # Hydra reads Python's None and True as texts.
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str) and not PLAIN_TEXT.fullmatch(value):
        return str(QuotedString(value, Quote.single).with_quotes())
    return str(value)


@cache
def _loader() -> Any:
    with hydra_started():
        return GlobalHydra.instance().config_loader()


def parsed(arguments: Sequence[str]) -> list[Override]:
    """Overrides as Hydra reads them. A pattern becomes the options that it matches.

    Raises:
        UsageError: an argument is no option with a value, or an axis is taken away or not chosen by a name.
    """
    try:
        overrides = OverridesParser.create(config_loader=_loader()).parse_overrides(list(arguments))
    except OverrideParseException as error:
        raise UsageError(
            f"{error.override!r} is no option; write OPTION=VALUE or OPTION=A,B without blanks, or sweeps=NAME. A "
            "value with blanks or signs is in quotes of its own: \"OPTION='VALUE'\"."
        ) from error
    for override in overrides:
        axis = override.key_or_group
        # Hydra would merge the names of a list, and the last one would win.
        if axis in GROUPS - SEVERAL and not isinstance(override.value(), (str, dict, Sweep, Glob)):
            raise UsageError(
                f"{override.input_line}: {axis} is chosen by name, {axis}=NAME,NAME; --help lists the names."
            )
    return overrides


def values_of(arguments: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    """The values of those of these options that a command line sets.

    Raises:
        UsageError: an option has several values.
    """
    values = {}
    for override in parsed([word for word in arguments if word.partition("=")[0] in names]):
        if override.is_sweep_override():
            raise UsageError(
                f"{override.input_line}: one value; a list is in brackets, [a,b], a text with a comma in quotes."
            )
        values[override.key_or_group] = override.value()
    return values


def named_plugins(arguments: Sequence[str]) -> list[str]:
    """The modules that a command line names; the last list wins."""
    modules = values_of(arguments, ["plugins"]).get("plugins", [])
    # What is no list is refused later, by the check of the option.
    return list(map(str, modules if isinstance(modules, list) else [modules]))


def offer(plugins: Sequence[str]) -> None:
    """Let ``AXIS=NAME`` and ``AXIS.OPTION=VALUE`` work for every part in these modules, before Hydra composes.

    Raises:
        UsageError: there is no such module.
    """
    load_plugins(plugins)
    for axis in BASES if plugins else ():
        for name, cls in parts(axis).items():
            # Parts of the package have files.
            if is_own(cls):
                continue
            options = {TARGET: target_of(cls)} | {each.name: each.default for each in options_of(cls).values()}
            node = {"name": name} | ({"encoder": options} if axis == "network" else options)
            ConfigStore.instance().store(group=axis, name=name, node=node)


class Composer:
    """Composes cells.

    Args:
        overrides: of a command line, whose plugins count for every cell.
        config_dir: a folder with files of the user's, as ``--config-dir`` names it.

    Attributes:
        config_dir: this folder.

    Raises:
        UsageError: there is no such folder or plugin.
    """

    def __init__(self, overrides: Sequence[str] = (), config_dir: str | Path | None = None) -> None:
        self.config_dir, self._search = config_dir, search_path(config_dir)
        offer(named_plugins(overrides))
        # A cache for each composer, since another one has another folder or other plugins.
        self._compose_once, self._setting = cache(self._compose), cache(self._configure)

    def __call__(self, overrides: Overrides) -> Config:
        """The configuration of one cell, with the number of steps that its recipe sets.

        Raises:
            UsageError: as by `setting`, or it has no such option.
        """
        config, refusals = self.setting(overrides)
        for refusal in refusals.values():
            raise refusal
        return config

    def setting(self, overrides: Overrides) -> Setting:
        """The options of one cell. A dataset of ours that meets no other option is put in last.

        Raises:
            UsageError: they cannot be composed, or one has a wrong value.
        """
        name = next((each for each in overrides if each.startswith("dataset=")), "")
        rest = tuple(each for each in overrides if each != name)
        dataset = _own_dataset(name)
        # A file of the user's may refer to the dataset.
        if dataset is None or self.config_dir or any(map(MEETS_DATASET.search, rest)):
            return self._setting(overrides)
        config, refusals = self._setting(rest)
        # The command line overrides the scaling of a dataset.
        if dataset.id in NEVER_SCALED and not any(each.startswith("scaling=") for each in rest):
            config = replace(config, scaling={"name": "none"})
        return with_dataset(config, dataset), refusals

    def _configure(self, overrides: Overrides) -> Setting:
        choices, parsed_overrides, refusals = tuple(filter(_is_choice, overrides)), parsed(overrides), {}
        try:
            # In a struct a value is put in only where there is an option.
            sections = OmegaConf.create(self._compose_once(choices), flags={"struct": True})
            for line, override in zip(overrides, parsed_overrides, strict=True):
                try:
                    if line not in choices:
                        OmegaConf.update(sections, override.key_or_group, override.value())
                except UNKNOWN as error:
                    refusals[line] = usage_error(error)
            values: Any = OmegaConf.to_container(sections, resolve=True)
            of_recipe, keys = recipe_options(str(values["recipe"])), [each.key_or_group for each in parsed_overrides]
            for name in of_recipe.keys() - keys:
                axis, _, option = name.partition(".")
                # A part may lack what a recipe sets, as a split by time lacks split.copies.
                if axis in BASES and option not in options_of(part(axis, values[axis]["name"])):
                    values[axis].pop(option, None)
            # A shorthand such as ``max_epochs`` that is not set leaves each phase its own default.
            config = read({name: value for name, value in values.items() if value != MISSING})
            return within_max_epochs(config, of_recipe, keys), refusals
        except ERRORS as error:
            raise usage_error(error) from error

    def _compose(self, choices: Overrides) -> Any:
        with hydra_started():
            return OmegaConf.to_container(compose("train", overrides=[*self._search, *choices]))


@cache
def _own_dataset(choice: str) -> DatasetSettings | None:
    """The dataset of a file of ours; None if it chooses anything else but the scaling, or is none."""
    match content_of(choice.replace("=", "/", 1)):
        case {"defaults": [{"override /scaling": "none"}], "dataset": section} | ({"source": _} as section):
            return checked(DatasetSettings, section, "dataset")
    return None


def _is_choice(override: str) -> bool:
    """True for a choice of a file or a part, and for what comes and goes: Hydra puts it in or refuses it."""
    key = override.partition("=")[0]
    return key in GROUPS or bool(re.search(r"^[+~]|[@/]", key))


@contextmanager
def hydra_started() -> Iterator[None]:
    """Hydra with our configuration folder, for `hydra.compose`.

    Afterwards the Hydra of the surrounding program is restored. What Hydra refuses is a `UsageError`. Another thread
    waits until this one has ended its block.
    """
    with _one_thread:
        # Hydra has one global instance, and refuses to start a second one.
        outer_hydra = GlobalHydra.instance().hydra
        GlobalHydra.instance().clear()
        try:
            with initialize_config_dir(str(CONF), **OF_TODAY):
                yield
        except ERRORS as error:
            raise usage_error(error) from error
        finally:
            GlobalHydra.instance().hydra = outer_hydra


def search_path(config_dir: str | Path | None) -> list[str]:
    """The overrides by which Hydra finds the options in a folder, as ``--config-dir`` does; none without a folder.

    Raises:
        UsageError: there is no such folder.
    """
    if config_dir is None:
        return []
    folder = Path(config_dir).absolute()
    if not folder.is_dir():
        raise UsageError(f"--config-dir: there is no folder {config_dir}; it has files such as logger/NAME.yaml.")
    return [f"hydra.searchpath=[{hydra_text(str(folder))}]"]


def usage_error(error: BaseException) -> UsageError:
    """An error of Hydra's or OmegaConf's in one sentence, which names the choices or options that there are."""
    if isinstance(error, UsageError):
        return error
    # Hydra wraps OmegaConf's errors, whose attributes name the option.
    cause = error if isinstance(error, OmegaConfBaseException) else error.__cause__
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        (axis, _, name), options = error.missing_cfg_file.rpartition("/"), error.options or ()
        # A user may have meant a table.
        table_hint = "For a file of yours: dataset=csv dataset.path=FILE." if axis == "dataset" else ""
        hint = did_you_mean(name, options) or table_hint
        return UsageError(
            unknown_name(f"{axis}={name} is not an option", name, options, f"the options of {axis}", hint=hint)
        )
    if isinstance(cause, UNKNOWN):
        options = cause.parent_node or ()
        return unknown_option([each for each in options if each != TARGET], str(cause.full_key))
    message = f"{error} {cause or ''}".partition("full_key: ")[0]
    if isinstance(cause, OmegaConfBaseException):
        # Its further lines repeat the key and name its classes.
        message = f"{cause.full_key}: {str(cause).splitlines()[0]}"
    return UsageError(f"{' '.join(message.split()).removesuffix('.')}.")


# The paper's scaling of a dataset, which a file of conf/ refers to. A reloaded module registers it again.
with warnings.catch_warnings():
    # OmegaConf 2.4 has another name for it, by which version 2.3 means something else.
    warnings.simplefilter("ignore")
    OmegaConf.register_new_resolver(
        "scarf.scaling_of", lambda dataset: "none" if dataset.get("id") in NEVER_SCALED else "zscore", replace=True
    )
