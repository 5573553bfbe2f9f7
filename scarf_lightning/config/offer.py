"""A plugin's parts as options of the configuration, so that they are asked for and set as ours are."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from hydra.core.config_store import ConfigStore

from ..settings import NetworkSettings
from .axes import BASES
from .facts import facts


def offer(plugins: Sequence[str]) -> None:
    """Let ``AXIS=NAME`` and ``AXIS.OPTION=VALUE`` work for every part in these modules, before Hydra composes.

    Raises:
        UsageError: there is no such module.
    """
    if not plugins:
        return
    for axis in BASES:
        ours = facts(axis)
        for name, found in facts(axis, plugins).items():
            if name not in ours:
                own = {"name": name}, dict(found.defaults)
                ConfigStore.instance().store(group=axis, name=name, node=_node(axis, *own))


def _node(axis: str, named: dict[str, str], options: dict[str, Any]) -> dict[str, Any]:
    if axis == "network":
        return asdict(NetworkSettings()) | named | {"encoder": options}
    return named | options
