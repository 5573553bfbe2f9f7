"""The door to Hydra: our configuration folder and the parts of plugins, and plain values out of what it composed.

Four things are private in Hydra 1.3 and 1.4, and have no public counterpart. Its parser of flags
(`scarf_lightning.cli.commands`), the only list of them. Its callbacks (`scarf_lightning.cli.running`), which a sweeper
is made with. The loader's ``repository``
(`scarf_lightning.sweeping.composer`), which reads the defaults list of one file. And its reader of files with the
registry that names it: a file of ours is read once.
"""

import logging
import re
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from hydra import __version__, initialize_config_dir
from hydra._internal.core_plugins import file_config_source
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Quote, QuotedString
from hydra.core.plugins import Plugins
from hydra.errors import HydraException, MissingConfigException
from hydra.plugins.config_source import ConfigResult
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import (
    ConfigAttributeError,
    ConfigKeyError,
    GrammarParseError,
    InterpolationResolutionError,
    OmegaConfBaseException,
    UnsupportedInterpolationType,
)

from ..errors import UsageError, did_you_mean, meant_by, not_an_option, unknown_name
from ..importing import require
from ..options import BASES, Config, load_plugins, options_of, read
from ..options.axes import AXES, TARGET, is_own, list_of, parts, target_of
from ..options.config import SHORTHANDS
from ..options.settings import PretrainSettings
from .configuration_files import not_yaml
from .folders import CONF, recipe_options

if TYPE_CHECKING:
    from hydra._internal.hydra import Hydra

OF_TODAY: dict[str, Any] = {"version_base": "1.3"} if __version__.startswith("1.3.") else {}
"""The argument without which Hydra 1.3 behaves as version 1.1 did. Version 1.4 warns of it."""
GLOBAL = "_global_"
"""The package of a configuration file that says itself which sections it has."""
_one_thread = threading.RLock()
"""Held by the thread that has started Hydra: its instance is that of the whole process."""
UNKNOWN = (ConfigKeyError, ConfigAttributeError)
OF_INTERPOLATIONS = (InterpolationResolutionError, UnsupportedInterpolationType, GrammarParseError)
_FILES = dict[tuple[Path, int, int], ConfigResult]()
"""Files of our own folder, by path, time and size."""
OPTIONS = frozenset(options_of(Config)) - {axis.name for axis in AXES}
"""The options of the configuration itself, which are no groups."""
OF_JOBS = ("hydra.sweep.", "hydra.job_logging", "hydra/job_logging")
"""Options of the jobs that a launcher starts."""
NEVER_SCALED = {28: 28, 1468: 9981, 4134: 9910}
"""OpenML datasets that the paper does not scale (section 4, "Dataset pre-processing"), with the task of each."""


class FileConfigSource(file_config_source.FileConfigSource):
    """Files of a configuration folder: ours are read once, and a user's that is not YAML is said in a sentence.

    Processes of a launcher inherit Hydra's registry and register Hydra's own class again. Hydra leaves a class that is
    registered already alone if it has the same name, so this class has it.
    """

    def is_group(self, config_path: str) -> bool:
        # In a folder sweeps/ of the user's, sweeps=NAME would be the choice of a file of it; it is an option of ours.
        return config_path not in OPTIONS and super().is_group(config_path)

    def load_config(self, config_path: str) -> ConfigResult:
        file = Path(self.path, self._normalize_file_name(config_path))
        # A user may name our own folder by --config-dir, too.
        if self.provider == "main" or Path(self.path) == CONF:
            return self._once(file, config_path)
        try:
            return super().load_config(config_path)
        except (yaml.YAMLError, ValueError) as error:
            raise not_yaml(file, error) from error

    def _once(self, file: Path, config_path: str) -> ConfigResult:
        """One of our own files, read once as long as it stays as it is: Hydra composes each cell of some twenty."""
        if not file.is_file():
            return super().load_config(config_path)
        found = file.stat()
        state = file, found.st_mtime_ns, found.st_size
        if state not in _FILES:
            _FILES[state] = super().load_config(config_path)
        known = _FILES[state]
        # Hydra takes the list of defaults out of what it gets.
        return replace(known, provider=self.provider, config=deepcopy(known.config))


@contextmanager
def our_files() -> Iterator[None]:
    """Within this context Hydra reads folders by our `FileConfigSource`. A program around us may use Hydra, too."""
    # This registers Hydra's own way to read files, which is put back at the end.
    Plugins.instance()
    sources = SourcesRegistry.instance().types
    usual = sources["file"]
    sources["file"] = FileConfigSource
    try:
        yield
    finally:
        sources["file"] = usual


def read_config(composed: DictConfig) -> Config:
    """Check what Hydra composed.

    Raises:
        UsageError: an interpolation leads nowhere, or as by `scarf_lightning.options.read`.
    """
    try:
        ours = our_sections(composed) if "hydra" in composed else composed
        fit_recipe(ours)
        values = plain_values(ours)
    except OmegaConfBaseException as error:
        raise _wrong_value(error) from error
    return read(values)


def our_sections(composed: DictConfig) -> DictConfig:
    """A copy of what Hydra composed, without Hydra's own section."""
    return OmegaConf.masked_copy(composed, [str(name) for name in composed if name != "hydra"])


def plain_values(sections: DictConfig) -> dict[str, Any]:
    """The sections with all interpolations resolved.

    A shorthand such as ``max_epochs`` that is not set is left out, so that each phase takes its own default.

    Raises:
        OmegaConfBaseException: an interpolation leads nowhere, or a value is missing.
    """
    is_set = []
    for name in map(str, sections):
        if name not in SHORTHANDS or (not OmegaConf.is_missing(sections, name) and sections[name] is not None):
            is_set.append(name)
    values: Any = OmegaConf.to_container(OmegaConf.masked_copy(sections, is_set), resolve=True, throw_on_missing=True)
    return {str(name): value for name, value in values.items()}


def fit_recipe(sections: DictConfig) -> None:
    """Take out what the recipe sets of a part that has no such option, as ``split.copies`` of a split by time."""
    for name, value in recipe_options(str(sections.recipe)).items():
        axis, _, option = name.partition(".")
        # A value that differs from the recipe's is the user's, and is refused if the part lacks the option.
        if axis not in BASES or sections[axis].get(option) != value:
            continue
        # Options of the phase stand beside those of its pretext.
        if axis == "pretrain" and option in options_of(PretrainSettings):
            continue
        chosen = parts(axis).get(sections[axis].get("name"))
        if chosen is not None and option not in options_of(chosen):
            # Hydra locks what it composed against keys that come and go.
            with open_dict(sections[axis]):
                del sections[axis][option]


class UnknownOptionError(UsageError):
    """An option is set that the chosen parts do not have.

    Attributes:
        option: its dotted name.
    """

    def __init__(self, sentence: str, option: str) -> None:
        super().__init__(sentence)
        self.option = option


def usage_error(error: BaseException) -> UsageError:
    """An error of Hydra's or OmegaConf's in one sentence, which names the options that exist if one is unknown."""
    if isinstance(error, UsageError):
        return error
    # A choice of an axis that has neither a file nor a part.
    if isinstance(error, MissingConfigException) and error.options and error.missing_cfg_file:
        return UsageError(_unknown_choice(error.missing_cfg_file, error.options))
    # One of several choices; Hydra does not say what there is.
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        group, _, name = error.missing_cfg_file.rpartition("/")
        if group not in {axis.name for axis in AXES}:
            return UsageError(
                f"There is no file {error.missing_cfg_file}.yaml; --config-dir FOLDER names the folder that has it."
            )
        return UsageError(f"{group}={name} is not an option; {list_of(group)} lists them.")
    # Its own advice is on two signs of its grammar.
    if there := re.match(r"Could not append to config\. An item is already at '(.+?)'", str(error)):
        return UsageError(f"{there[1]} is an option already; leave out the sign +.")
    # Hydra wraps OmegaConf's errors, whose attributes name the option.
    cause = error if isinstance(error, OmegaConfBaseException) else error.__cause__
    if isinstance(cause, OmegaConfBaseException) and not isinstance(cause, UNKNOWN):
        return _wrong_value(cause)
    if isinstance(cause, UNKNOWN) and isinstance(cause.parent_node, DictConfig):
        known = [str(key) for key in cause.parent_node if key not in ("hydra", TARGET)]
        full = str(cause.full_key)
        parent, _, name = full.rpartition(".")
        if not known:
            return UnknownOptionError(f"{full} is not an option; {parent} takes one value.", full)
        hint = did_you_mean(name, known) or _within(cause.parent_node, parent, name)
        hint = hint or _left_out(cause.parent_node, parent, name)
        if parent == "logger" and not hint:
            # A user of Hydra may give the class to the group itself.
            section = "mine" if name == TARGET else name
            hint = f"For a class of Lightning's: +logger.{section}._target_=CLASS."
        where = f"the options of {parent}" if parent else "the options"
        return UnknownOptionError(not_an_option(full, where, known, hint, list_of(parent)), full)
    # Any other error in Hydra's words, on one line.
    message = str(error) if cause is None else f"{error} {cause}"
    return UsageError(f"{' '.join(message.split()).removesuffix('.')}.")


def _left_out(section: DictConfig, axis: str, name: str) -> str:
    """Advice on an option that the chosen part has and a file of the user's for it leaves out."""
    chosen = parts(axis).get(section.get("name")) if axis in BASES else None
    if chosen is None or name not in options_of(chosen):
        return ""
    part = section.name
    return f"{part} has it: let your file begin with `defaults: [{part}, _self_]`, or add it by +{axis}.{name}=VALUE."


def _wrong_value(error: OmegaConfBaseException) -> UsageError:
    """A value that OmegaConf cannot make, such as an interpolation that leads nowhere, by the name of its option."""
    place = f"{error.full_key}: " if error.full_key else ""
    # OmegaConf's further lines repeat the key and name its classes.
    reason = str(error).splitlines()[0].removesuffix(".")
    hint = ""
    if "HydraConfig was not set" in reason:
        return UsageError(f"{place}${{hydra:...}} has no value here: cells have no job, and no number; write a value.")
    if isinstance(error, OF_INTERPOLATIONS):
        hint = "; to write ${ as text, put a backslash before it"
    return UsageError(f"{place}{reason}{hint}.")


def _within(group: DictConfig, place: str, name: str) -> str:
    """A question that names the options of this name in the groups of a group, if there are any."""
    options = []
    for inner in group:
        # A shorthand that is not set has no value to look into.
        node = None if OmegaConf.is_missing(group, inner) else group[inner]
        if not isinstance(node, DictConfig) or inner == "hydra":
            continue
        # The main section has no name, so its groups need no dot before theirs.
        for option in meant_by(name, map(str, node)):
            options.append(f"{place}.{inner!s}.{option}".removeprefix("."))
    if not options:
        return ""
    *others, last = options
    return f"Did you mean {', '.join(others)}{' or ' if others else ''}{last}?"


def _unknown_choice(file: str, options: Sequence[str]) -> str:
    """A sentence on a file that is not in `conf/`. A user may have meant a table by it."""
    if file == "hydra/sweeper/optuna":
        require("hydra_plugins.hydra_optuna_sweeper", "hydra/sweeper=optuna")
    group, _, name = file.rpartition("/")
    table = file.removeprefix("dataset/")
    if table != file and ("." in table or "/" in table):
        return f"dataset={table} is not an option; for a file of yours: dataset=csv dataset.path={table}."
    # Seventy names of one suite would hide the others; the hint still finds each of them.
    listed, suite = list[str](), list[str]()
    for option in options:
        if group == "dataset" and option.startswith("cc18-"):
            suite.append(option)
        else:
            listed.append(option)
    if suite:
        listed.append(f"cc18-NAME ({len(suite)})")
    hint = did_you_mean(name, options)
    if group == "dataset" and not hint:
        hint = "For a file of yours, name it: dataset=FILE."
    fault, where = f"{group}={name} is not an option", f"the options of {group}"
    return unknown_name(fault, name, listed, where, hint=hint, full_list=list_of(group))


def named_plugins(arguments: Sequence[str]) -> list[str]:
    """The modules that a command line names; of a sweep over plugins all."""
    parser = OverridesParser.create()
    given = [argument for argument in arguments if argument.startswith("plugins=")]
    value = parser.parse_override(given[-1]).value() if given else []
    names = dict[str, None]()
    for each in value.list if isinstance(value, ChoiceSweep) else [value]:
        # What is no list is refused later, by the check of the option.
        if isinstance(each, list):
            names |= dict.fromkeys(map(str, each))
    return list(names)


def offer(plugins: Sequence[str]) -> None:
    """Let ``AXIS=NAME`` and ``AXIS.OPTION=VALUE`` work for every part in these modules, before Hydra composes.

    Raises:
        UsageError: there is no such module.
    """
    if not plugins:
        return
    load_plugins(plugins)
    for axis in BASES:
        for name, cls in parts(axis).items():
            # Parts of the package have files.
            if not is_own(cls):
                content, package = _part_content(axis, cls)
                ConfigStore.instance().store(group=axis, name=name, node=content, package=package)


def _part_content(axis: str, cls: type[Any]) -> tuple[dict[str, Any], str | None]:
    """What a file of `conf/` would hold for a part, and its package if that is not its axis."""
    options = {name: option.default for name, option in options_of(cls).items()}
    part = {TARGET: target_of(cls), "name": cls.name, **options}
    if axis == "network":
        part = {"name": cls.name, "encoder": {TARGET: target_of(cls), **options}}
    # A method that is never pre-trained turns pre-training off.
    if axis == "method" and not cls.pretrainable:
        return {"defaults": [{"override /pretrain": "none"}], axis: part}, GLOBAL
    return part, None


@contextmanager
def _unlogged() -> Iterator[None]:
    """Within this context Hydra's search for plugins is no news to a program that logs everything."""
    logger = logging.getLogger("hydra")
    level = logger.level
    if level == logging.NOTSET:
        logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def hydra_started(plugins: Sequence[str] = ()) -> "Iterator[Hydra]":
    """Hydra with our configuration and the parts of plugins.

    What the program around us has of Hydra, it has again in the end; what Hydra refuses is a `UsageError`. Another
    thread waits until this one has ended its block.
    """
    with _one_thread:
        # Hydra has one global instance, and refuses to start a second one.
        instance, job_config = GlobalHydra.instance(), HydraConfig.instance()
        theirs, their_job = instance.hydra, job_config.cfg
        instance.clear()
        # ${hydra:...} would resolve to values of the program around us.
        job_config.cfg = None
        try:
            offer(plugins)
            with _unlogged(), our_files(), initialize_config_dir(str(CONF), job_name="train", **OF_TODAY):
                hydra = GlobalHydra.instance().hydra
                assert hydra is not None
                yield hydra
        except (HydraException, OmegaConfBaseException) as error:
            raise usage_error(error) from error
        finally:
            GlobalHydra.instance().hydra = theirs
            HydraConfig.instance().cfg = their_job


def folder_of_options(config_dir: str | Path) -> Path:
    """The absolute path of a folder with files of the user's, which are options beside ours.

    Raises:
        UsageError: there is no such folder.
    """
    folder = Path(config_dir).absolute()
    if not folder.is_dir():
        raise UsageError(
            f"--config-dir: there is no folder {config_dir}; name one with files such as logger/NAME.yaml."
        )
    return folder


def master_of(hydra: "Hydra", config_dir: str | Path | None = None, overrides: Sequence[str] = ()) -> DictConfig:
    """The configuration of a command line without options of ours, as Hydra gives it to a sweeper.

    Args:
        config_dir: see `folder_of_options`, which raises its error here, too.
        overrides: options of Hydra's, and presets.
    """
    # A composer passes the search path on to each of its compositions.
    loaded = [*search_path(config_dir), *overrides]
    return hydra.config_loader.load_configuration("train", overrides=loaded, run_mode=RunMode.MULTIRUN)


def search_path(config_dir: str | Path | None) -> list[str]:
    """The overrides by which Hydra finds the options in a folder, as ``--config-dir`` does; none without a folder.

    Raises:
        UsageError: as by `folder_of_options`.
    """
    if config_dir is None:
        return []
    folder = folder_of_options(config_dir)
    address = QuotedString(f"file://{folder}", Quote.single).with_quotes()
    return [f"hydra.searchpath=[{address}]"]


def check_hydra(hydra: Any) -> None:
    """Refuse options in Hydra's own section that would be ignored here, or would lose results, by a `UsageError`."""
    if hydra.job.chdir:
        raise UsageError(
            "hydra.job.chdir=true: results and tables are found from the folder that the command runs in; "
            "paths.results=FOLDER says where results go, hydra.sweep.dir=FOLDER where Hydra's own files do."
        )
    # Each mode of Hydra reads one of two sections, and passes over the other without a word.
    if str(hydra.mode).endswith("MULTIRUN"):
        mode, ignored, used = "a sweep", "hydra.run.", "hydra.sweep.dir"
    else:
        mode, ignored, used = "hydra.mode=RUN", "hydra.sweep.", "hydra.run.dir"
    for override in hydra.overrides.hydra:
        if override.lstrip("+").startswith(ignored):
            raise UsageError(f"{override} is not for {mode}, whose folder for Hydra's own files is {used}.")


def check_trains_here(hydra: Any) -> None:
    """Refuse options of a launcher's jobs where no launcher starts any, by a `UsageError`."""
    for override in hydra.overrides.hydra:
        if override.lstrip("+").startswith(OF_JOBS):
            raise UsageError(
                f"{override} is for the jobs of a launcher, and this command trains by itself; leave it out, or add "
                "hydra/launcher=joblib."
            )


def scaling_of(dataset: Mapping[str, Any]) -> str:
    """The paper's scaling of the data of this configuration."""
    is_unscaled = dataset.get("id") in NEVER_SCALED or dataset.get("task") in NEVER_SCALED.values()
    return "none" if is_unscaled else "zscore"


def split_of(dataset: Mapping[str, Any]) -> str:
    """The split of data that are an OpenML task, or not."""
    return "random" if dataset.get("task") is None else "task"


# Files of conf/ call them, as ${scarf.scaling_of:...}. A reloaded module registers them again.
with warnings.catch_warnings():
    # OmegaConf 2.4 has another name for it, by which version 2.3 means something else.
    warnings.simplefilter("ignore")
    for _resolver in (scaling_of, split_of):
        OmegaConf.register_new_resolver(f"scarf.{_resolver.__name__}", _resolver, replace=True)
