"""The door to Hydra: our configuration folder with the defaults of our classes, and plain values out of it.

Three things are private in Hydra 1.3 and 1.4, and have no public counterpart. Its reader of files and the registry that
names it: a plugin may read addresses of its own, and ``--config-dir`` always is a folder. Its parser of flags
(`scarf_lightning.cli.commands`), the only list of them. And the loader's ``repository``
(`scarf_lightning.sweeping.composer`), which reads the defaults list of one file.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hydra import __version__, initialize_config_dir
from hydra._internal.core_plugins import file_config_source
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Quote, QuotedString
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

from ..errors import UsageError, did_you_mean, meant_by
from ..options import BASES, Config, load_plugins, read
from ..options.catalogue import description, descriptions
from ..options.logger_classes import TARGET
from ..options.reference import filled
from .folders import CONF, recipe_options

if TYPE_CHECKING:
    from hydra._internal.hydra import Hydra

OF_TODAY: dict[str, Any] = {"version_base": "1.3"} if __version__.startswith("1.3.") else {}
"""The argument without which Hydra 1.3 behaves as version 1.1 did. Version 1.4 warns of it."""
UNKNOWN = (ConfigKeyError, ConfigAttributeError)
OF_INTERPOLATIONS = (InterpolationResolutionError, UnsupportedInterpolationType, GrammarParseError)
NEVER_SCALED = {28: 28, 1468: 9981, 4134: 9910}
"""OpenML datasets that the paper does not scale (section 4, "Dataset pre-processing"), with the task of each."""


class FileConfigSource(file_config_source.FileConfigSource):
    """Files of a configuration folder, each with the defaults of the options that its class has and it leaves out.

    A part of the package is an option of its axis without a file too: a file says what else the part is used with.

    Processes of a launcher inherit Hydra's registry and register Hydra's own class again. Hydra leaves a class that is
    registered already alone if it has the same name, so this class has it.
    """

    _read: ClassVar[dict[tuple[Path, int], ConfigResult]] = {}
    """The content of each file as it was last changed. Every composition reads twenty of them again."""

    def load_config(self, config_path: str) -> ConfigResult:
        name = self._normalize_file_name(config_path)
        file = Path(self.path, name)
        # A file wins over the part of its name, since it says more.
        if not file.exists() and self._without_file(config_path) is not None:
            options, package = _of_part(*name.removesuffix(".yaml").split("/"))
            return ConfigResult(
                config=OmegaConf.create(options),
                path=f"{self.scheme()}://{self.path}",
                provider=self.provider,
                header={"package": package},
            )
        # A program that stays alive, as a notebook, may change its own files between two runs.
        key = file, file.stat().st_mtime_ns
        if key not in self._read:
            result = super().load_config(config_path)
            loaded: Any = OmegaConf.to_container(result.config, resolve=False)
            content = {str(option): value for option, value in loaded.items()}
            whole = OmegaConf.create(filled(name.removesuffix(".yaml"), content))
            self._read[key] = replace(result, config=whole)
        result = self._read[key]
        # Hydra writes into the configuration that it gets, so each composition has its own.
        return replace(result, config=deepcopy(result.config))

    def is_config(self, config_path: str) -> bool:
        return super().is_config(config_path) or self._without_file(config_path) is not None

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        names = set(super().list(config_path, results_filter))
        # Hydra also asks for the groups within a group, which parts are not.
        if results_filter is not ObjectType.GROUP and Path(self.path) == CONF:
            names |= set(_own_parts(config_path.strip("/")))
        return sorted(names)

    def _without_file(self, config_path: str) -> str | None:
        """The name of the part of the package that a path such as ``corruption/mean`` stands for, if there is one."""
        axis, _, name = config_path.strip("/").removesuffix(".yaml").partition("/")
        # A folder of the user's, by --config-dir, has its files alone.
        if Path(self.path) == CONF and name in _own_parts(axis):
            return name
        return None


def _of_part(axis: str, name: str) -> tuple[dict[str, Any], str | None]:
    """The content of a file for a part, and its package if that is not its axis.

    A method that is never pre-trained turns pre-training off.
    """
    options = filled(f"{axis}/{name}", {"name": name})
    if axis == "method" and not description(axis, name).pretrainable:
        return {"defaults": [{"override /pretrain": "none"}], axis: options}, "_global_"
    return options, None


def _own_parts(axis: str) -> list[str]:
    """The parts of the package on an axis; none if it has no parts."""
    known = descriptions(axis) if axis in BASES else {}
    return [name for name, each in known.items() if each.is_own]


@contextmanager
def option_files() -> Iterator[None]:
    """Within this context Hydra reads every folder, `conf/` and a ``--config-dir``, by our `FileConfigSource`.

    Only within it: a program of the user's may use Hydra for a configuration of its own.
    """
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
        values = OmegaConf.to_container(ours, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        raise _wrong_value(error) from error
    assert isinstance(values, dict)
    return read({str(name): value for name, value in values.items()})


def our_sections(composed: DictConfig) -> DictConfig:
    """A copy of what Hydra composed, without Hydra's own section."""
    return OmegaConf.masked_copy(composed, [str(name) for name in composed if name != "hydra"])


def fit_recipe(sections: DictConfig) -> None:
    """Take out what the recipe sets of a part that has no such option, as ``split.copies`` of a split by time."""
    for name, value in recipe_options(str(sections.recipe)).items():
        axis, _, option = name.partition(".")
        # A value that differs from the recipe's is the user's, and is refused if the part lacks the option.
        if axis not in BASES or sections[axis].get(option) != value:
            continue
        chosen = descriptions(axis).get(sections[axis].get("name"))
        if chosen is not None and option not in chosen.options:
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
    # A choice of an axis that has neither a file nor a part.
    if isinstance(error, MissingConfigException) and error.options and error.missing_cfg_file:
        return UsageError(_unknown_choice(error.missing_cfg_file, error.options))
    # One of several choices; Hydra does not say what there is.
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        group, _, name = error.missing_cfg_file.rpartition("/")
        return UsageError(f"{group}={name} is not an option; --help {group} lists them.")
    # Hydra wraps OmegaConf's errors, whose attributes name the option.
    cause = error if isinstance(error, OmegaConfBaseException) else error.__cause__
    if isinstance(cause, OmegaConfBaseException) and not isinstance(cause, UNKNOWN):
        return _wrong_value(cause)
    if isinstance(cause, UNKNOWN) and isinstance(cause.parent_node, DictConfig):
        known = [str(key) for key in cause.parent_node if key != "hydra"]
        full = str(cause.full_key)
        parent, _, name = full.rpartition(".")
        if not known:
            return UnknownOptionError(f"{full} is not an option; {parent} takes one value.", full)
        where = f"the options of {parent}" if parent else "the options"
        hint = did_you_mean(name, known) or _within(cause.parent_node, parent, name)
        if parent == "logger" and not hint:
            # A user of Hydra may give the class to the group itself.
            section = "mine" if name == TARGET else name
            hint = f" For a class of Lightning's: +logger.{section}._target_=CLASS."
        return UnknownOptionError(f"{full} is not an option; {where} are: {', '.join(known)}.{hint}", full)
    # Any other error in Hydra's words, on one line.
    message = str(error) if cause is None else f"{error} {cause}"
    return UsageError(" ".join(message.split()))


def _wrong_value(error: OmegaConfBaseException) -> UsageError:
    """A value that OmegaConf cannot make, such as an interpolation that leads nowhere, by the name of its option."""
    place = f"{error.full_key}: " if error.full_key else ""
    # OmegaConf's further lines repeat the key and name its classes.
    reason = str(error).splitlines()[0].removesuffix(".")
    hint = ""
    if isinstance(error, OF_INTERPOLATIONS):
        hint = "; to write ${ as text, put a backslash before it"
    return UsageError(f"{place}{reason}{hint}.")


def _within(group: DictConfig, place: str, name: str) -> str:
    """A question that names the options of this name in the groups of a group, if there are any."""
    options = []
    for inner, node in group.items():
        if not isinstance(node, DictConfig) or inner == "hydra":
            continue
        # The main section has no name, so its groups need no dot before theirs.
        for option in meant_by(name, map(str, node)):
            options.append(f"{place}.{inner!s}.{option}".removeprefix("."))
    if not options:
        return ""
    *others, last = options
    return f" Did you mean {', '.join(others)}{' or ' if others else ''}{last}?"


def _unknown_choice(file: str, options: Sequence[str]) -> str:
    """A sentence on a file that is not in `conf/`. A user may have meant a table by it."""
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
        hint = " For a file of yours, name it: dataset=FILE."
    return f"{group}={name} is not an option; the options of {group} are: {', '.join(listed)}.{hint}"


def named_plugins(arguments: Sequence[str]) -> list[str]:
    """The modules that a command line names."""
    parser = OverridesParser.create()
    given = [argument for argument in arguments if argument.startswith("plugins=")]
    value = parser.parse_override(given[-1]).value() if given else []
    # What is no list is refused later, by the check of the option.
    if not isinstance(value, list):
        return []
    return [str(name) for name in value]


def offer(plugins: Sequence[str]) -> None:
    """Let ``AXIS=NAME`` and ``AXIS.OPTION=VALUE`` work for every part in these modules, before Hydra composes.

    Raises:
        UsageError: there is no such module, or one of its parts has a name that is taken.
    """
    if not plugins:
        return
    load_plugins(plugins)
    for axis in BASES:
        for name, each in descriptions(axis).items():
            # Parts of the package are found by `FileConfigSource` when they are asked for.
            if not each.is_own:
                content, package = _of_part(axis, name)
                ConfigStore.instance().store(group=axis, name=name, node=content, package=package)


@contextmanager
def hydra_started(plugins: Sequence[str] = ()) -> "Iterator[Hydra]":
    """Hydra with our configuration and the parts of plugins.

    What the program around us has of Hydra, it has again in the end; what Hydra refuses is a `UsageError`.
    """
    # Hydra has one global instance, and refuses to start a second one.
    instance = GlobalHydra.instance()
    theirs = instance.hydra
    instance.clear()
    try:
        offer(plugins)
        with option_files(), initialize_config_dir(str(CONF), job_name="train", **OF_TODAY):
            hydra = GlobalHydra.instance().hydra
            assert hydra is not None
            yield hydra
    except (HydraException, OmegaConfBaseException) as error:
        raise usage_error(error) from error
    finally:
        GlobalHydra.instance().hydra = theirs


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


def master_of(hydra: "Hydra", config_dir: str | Path | None = None) -> DictConfig:
    """The configuration of a command line without options, as Hydra gives it to a sweeper.

    Args:
        config_dir: see `folder_of_options`, which raises its error here, too.
    """
    # A composer passes the search path on to each of its compositions.
    return hydra.config_loader.load_configuration("train", overrides=search_path(config_dir), run_mode=RunMode.MULTIRUN)


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


def scaling_of(dataset: Mapping[str, Any]) -> str:
    """The paper's scaling of the data of this configuration."""
    is_unscaled = dataset.get("id") in NEVER_SCALED or dataset.get("task") in NEVER_SCALED.values()
    return "none" if is_unscaled else "zscore"


def split_of(dataset: Mapping[str, Any]) -> str:
    """The split of data that are an OpenML task, or not."""
    return "random" if dataset.get("task") is None else "task"


def given(value: Any, default: Any) -> Any:
    """An option that both phases share, or a phase's own default if it is null."""
    return default if value is None else value


# Files of conf/ call them, as ${scarf.scaling_of:...}. A reloaded module registers them again.
with warnings.catch_warnings():
    # OmegaConf 2.4 has another name for it, by which version 2.3 means something else.
    warnings.simplefilter("ignore")
    for _resolver in (scaling_of, split_of, given):
        OmegaConf.register_new_resolver(f"scarf.{_resolver.__name__}", _resolver, replace=True)
