"""The door to Hydra: our configuration folder and the parts of plugins, and plain values out of what it composed."""

import re
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from hydra import __version__, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.errors import HydraException, MissingConfigException
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from ..errors import UsageError, did_you_mean, meant_by, not_an_option, unknown_name
from ..importing import require
from ..options import BASES, Config, load_plugins, options_of, read
from ..options.axes import AXES, TARGET, is_own, list_of, parts, target_of
from ..options.config import SHORTHANDS, within_max_epochs
from .folders import CONF, flat, not_yaml, recipe_options

OF_TODAY: dict[str, Any] = {"version_base": "1.3"} if __version__.startswith("1.3.") else {}
"""The argument without which Hydra 1.3 behaves as version 1.1 did. Version 1.4 warns of it."""
GLOBAL = "_global_"
"""The package of a configuration file that says itself which sections it has."""
_one_thread = threading.RLock()
"""Held by the thread that has started Hydra: its instance is that of the whole process."""
UNKNOWN = (ConfigKeyError, ConfigAttributeError)
ERRORS = (HydraException, OmegaConfBaseException, yaml.YAMLError, ValueError)
"""The errors that composing may end in; Hydra has no error of its own for a file that it cannot read."""
OF_JOBS = ("hydra.sweep.", "hydra.job_logging", "hydra/job_logging")
"""Begin the options of the jobs that a launcher starts."""
OF_TABLES = ("split", "regime", "scaling", "encoding")
"""Axes whose options a recipe sets, whichever part is chosen."""
NEVER_SCALED = {28: 28, 1468: 9981, 4134: 9910}
"""OpenML datasets that the paper does not scale (section 4, "Dataset pre-processing"), with the task of each."""


def read_config(composed: DictConfig) -> Config:
    """Check what Hydra composed, with the number of steps that its recipe says.

    Raises:
        UsageError: an interpolation leads nowhere, or as by `scarf_lightning.options.read`.
    """
    try:
        return read_sections(our_sections(composed))
    except OmegaConfBaseException as error:
        raise usage_error(error) from error


def read_sections(sections: DictConfig) -> Config:
    """Check our own sections of what Hydra composed, which may be changed.

    Raises:
        OmegaConfBaseException, UsageError: as by `read_config`.
    """
    fit_recipe(sections)
    config = read(plain_values(sections))
    return within_max_epochs(config, recipe_options(config.recipe))


def our_sections(composed: DictConfig) -> DictConfig:
    """A copy of what Hydra composed, without Hydra's own section."""
    return OmegaConf.masked_copy(composed, [str(name) for name in composed if name != "hydra"])


def plain_values(sections: DictConfig) -> dict[str, Any]:
    """The sections with all interpolations resolved.

    A shorthand such as ``max_epochs`` that is not set is left out, so that each phase takes its own default.

    Raises:
        OmegaConfBaseException: an interpolation leads nowhere, or a value is missing.
    """
    is_set = [str(name) for name in sections if name not in SHORTHANDS or sections.get(name) is not None]
    values: Any = OmegaConf.to_container(OmegaConf.masked_copy(sections, is_set), resolve=True, throw_on_missing=True)
    return {str(name): value for name, value in values.items()}


def fit_recipe(sections: DictConfig) -> None:
    """Take out what the recipe sets of a part that has no such option, as ``split.copies`` of a split by time."""
    for name, value in recipe_options(str(sections.recipe)).items():
        axis, _, option = name.partition(".")
        part = parts(axis).get(sections[axis].get("name")) if axis in OF_TABLES else None
        # A value that differs from the recipe's is the user's, and is refused if the part lacks the option.
        if part is not None and option not in options_of(part) and sections[axis].get(option) == value:
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
    if isinstance(error, yaml.MarkedYAMLError):
        return not_yaml(error)
    if isinstance(error, UnicodeDecodeError):
        return UsageError("A file of --config-dir is not UTF-8; save it as UTF-8.")
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        return _missing_file(error.missing_cfg_file, error.options or ())
    # Its own advice is on two signs of its grammar.
    if there := re.match(r"Could not append to config\. An item is already at '(.+?)'", str(error)):
        return UsageError(f"{there[1]} is an option already; leave out the sign +.")
    # Hydra wraps OmegaConf's errors, whose attributes name the option.
    cause = error if isinstance(error, OmegaConfBaseException) else error.__cause__
    if not isinstance(cause, OmegaConfBaseException):
        message = f"{error} {cause or ''}"
        return UsageError(f"{' '.join(message.split()).removesuffix('.')}.")
    if isinstance(cause, UNKNOWN) and isinstance(cause.parent_node, DictConfig):
        return _unknown_option(str(cause.full_key), cause.parent_node)
    # Its further lines repeat the key and name its classes.
    reason = str(cause).splitlines()[0].removesuffix(".")
    if looked_up := re.match(r'\w+ raised while resolving interpolation: "?(.+?)"?$', reason):
        reason = looked_up[1]
    if "HydraConfig was not set" in reason:
        reason = "${hydra:...} has no value here: cells have no job, and no number; write a value"
    return UsageError(f"{cause.full_key}: {reason}." if cause.full_key else f"{reason}.")


def _missing_file(file: str, options: Sequence[str]) -> UsageError:
    """A refusal of a choice that is neither a file nor a part. A user may have meant a table by it."""
    if file == "hydra/sweeper/optuna":
        require("hydra_plugins.hydra_optuna_sweeper", "hydra/sweeper=optuna")
    group, _, name = file.rpartition("/")
    if group.startswith("dataset/"):
        group, name = "dataset", file.removeprefix("dataset/")
    # Hydra lists the choices only where the file was to be one of them.
    if not options and group not in {axis.name for axis in AXES}:
        return UsageError(f"There is no file {file}.yaml; --config-dir FOLDER names the folder that has it.")
    # Seventy names of one suite would hide the others; the hint still finds each of them.
    known = sorted(options, key=lambda each: each.startswith("cc18-"))
    own_file = "For a file of yours: dataset=csv dataset.path=FILE." if group == "dataset" else ""
    hint = did_you_mean(name, known) or own_file
    fault, where = f"{group}={name} is not an option", f"the options of {group}"
    if not options:
        return UsageError(f"{fault}; {list_of(group)} lists them.")
    return UsageError(unknown_name(fault, name, known, where, hint=hint, full_list=list_of(group)))


def _unknown_option(full: str, section: DictConfig) -> UnknownOptionError:
    """A refusal of an option that a section does not have."""
    parent, _, name = full.rpartition(".")
    known = [str(key) for key in section if key not in ("hydra", TARGET)]
    if not known:
        return UnknownOptionError(f"{full} is not an option; {parent} takes one value.", full)
    hint = did_you_mean(name, known)
    if not hint:
        # An option of this name in a group within.
        values = OmegaConf.to_container(OmegaConf.masked_copy(section, known), resolve=False)
        inner = [each for each, _ in flat(values, f"{parent}." if parent else "")]
        within = [each for each in inner if meant_by(name, [each.rpartition(".")[2]])]
        hint = f"Did you mean {' or '.join(within)}?" if within else ""
    where = f"the options of {parent}" if parent else "the options"
    return UnknownOptionError(not_an_option(full, where, known, hint, list_of(parent)), full)


def named_plugins(arguments: Sequence[str]) -> list[str]:
    """The modules that a command line names; the last list wins."""
    given = [argument for argument in arguments if argument.startswith("plugins=")]
    names = OverridesParser.create().parse_override(given[-1]).value() if given else []
    # What is no list is refused later, by the check of the option.
    return list(map(str, names)) if isinstance(names, list) else []


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
            part: dict[str, Any] = {"name": name, "encoder": options} if axis == "network" else {"name": name} | options
            package = None
            # A method that is never pre-trained turns pre-training off.
            if axis == "method" and not cls.pretrainable:
                part, package = {"defaults": [{"override /pretrain": "none"}], axis: part}, GLOBAL
            ConfigStore.instance().store(group=axis, name=name, node=part, package=package)


@contextmanager
def hydra_started() -> Iterator[None]:
    """Hydra with our configuration folder, for `hydra.compose`.

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
            with initialize_config_dir(str(CONF), job_name="train", **OF_TODAY):
                yield
        except (HydraException, OmegaConfBaseException) as error:
            raise usage_error(error) from error
        finally:
            GlobalHydra.instance().hydra = theirs
            HydraConfig.instance().cfg = their_job


def search_path(config_dir: str | Path | None) -> list[str]:
    """The overrides by which Hydra finds the options in a folder, as ``--config-dir`` does; none without a folder.

    Raises:
        UsageError: there is no such folder.
    """
    if config_dir is None:
        return []
    if not Path(config_dir).is_dir():
        raise UsageError(
            f"--config-dir: there is no folder {config_dir}; name one with files such as logger/NAME.yaml."
        )
    address = QuotedString(f"file://{Path(config_dir).absolute()}", Quote.single).with_quotes()
    return [f"hydra.searchpath=[{address}]"]


def check_hydra(hydra: Any, *, has_launcher: bool = True) -> None:
    """Refuse options in Hydra's own section that would be ignored here, or would lose results, by a `UsageError`.

    Args:
        hydra: the section.
        has_launcher: whether a launcher starts jobs.
    """
    folder = "paths.results=FOLDER says where results go"
    if hydra.job.chdir:
        raise UsageError(
            f"hydra.job.chdir=true: results and tables are found from the folder that the command runs in; {folder}."
        )
    # Each mode of Hydra reads one of two sections, and passes over the other without a word.
    ignored = "hydra.run." if str(hydra.mode).endswith("MULTIRUN") else "hydra.sweep."
    for override in hydra.overrides.hydra:
        option = override.lstrip("+~")
        if option.startswith(ignored):
            raise UsageError(f"{override} is not for this mode of Hydra; leave it out: {folder}.")
        if not has_launcher and option.startswith(OF_JOBS):
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
