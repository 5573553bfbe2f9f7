"""The objects that a cell's configuration names."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, make_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..limits import Limited
from .combinations import (
    check_combination,
    encoding_of,
    is_cotrained,
    is_pretrained,
    method_facts,
    unused_options,
)  # fmt: skip
from .facts import facts
from .plugins import load_plugins
from .registry import build, checked
from .schema import Choice, Config
from .search_space import check_search

if TYPE_CHECKING:
    from ..data.encoding import Encoding
    from ..data.regimes import Regime
    from ..data.scaling import Scaling
    from ..data.splits import Splitting
    from ..methods import Method
    from ..networks import Network
    from ..pretexts import Pretext


PLAIN: dict[str, Any] = {
    kind.__name__: kind for kind in (bool, int, float, str)
} | {"int | None": int | None, "float | None": float | None, "str | None": str | None}  # fmt: skip
"""The types of options, as their classes write them, that can be checked without importing these."""


@dataclass(frozen=True)
class CellParts:
    """What a cell is made of; without pre-training there is no pretext."""

    regime: "Regime"
    splitting: "Splitting"
    scaling: "Scaling"
    encoding: "Encoding"
    network: "Network"
    method: "Method"
    pretext: "Pretext | None"


def check_options(config: Config) -> None:
    """Refuse, before torch is imported, what the limits and the types of the parts' options do not take.

    Raises:
        UsageError: an option is beyond its limits, or of a wrong type.
    """
    unused = unused_options(config)
    for place, axis, choice in _choices(config):
        if not {place, place.partition(".")[0]} & unused:
            _check_choice(place, axis, tuple(config.plugins), json.dumps(choice))


def _choices(config: Config) -> Iterator[tuple[str, str, Choice]]:
    """Every choice of a part: where its options stand, its axis, its name and options."""
    for axis in ("split", "regime", "scaling", "encoding", "corruption", "selection", "loss", "method"):
        yield axis, axis, getattr(config, axis)
    yield "network.encoder", "network", {"name": config.network.name} | config.network.encoder
    yield "pretrain", "pretrain", {"name": config.pretrain.name} | config.pretrain.options
    yield "cotrain", "pretrain", {"name": config.cotrain.task} | config.cotrain.options
    for axis in ("corruption", "loss"):
        yield f"cotrain.{axis}", axis, getattr(config.cotrain, axis)


@cache
def _check_choice(place: str, axis: str, plugins: tuple[str, ...], choice: str) -> None:
    options = json.loads(choice)
    known = facts(axis, plugins).get(options.pop("name", None))
    if known is None:
        return
    plain = {name: PLAIN[kind] for name, kind in known.fields.items() if name in options and kind in PLAIN}
    limits = {"limits": known.variables.get("limits", {})}
    schema = make_dataclass(place.replace(".", "_"), plain.items(), bases=(Limited,), namespace=limits)
    checked(schema, {name: options[name] for name in plain}, place)


def build_parts(config: Config) -> CellParts:
    """Construct each part; imports torch.

    Raises:
        UsageError: a part is unknown, has an option that it does not know, or does not go with another.
    """
    load_plugins(config.plugins)
    check_combination(config)
    pretext = None
    if is_pretrained(config):
        chosen = {"name": config.pretrain.name} | config.pretrain.options
        pretext = _pretext(config, chosen, "pretrain", config.corruption, config.loss)
        if config.pretrain.monitor == "error" and not pretext.has_error:
            with_loss = f" with loss={config.loss['name']}" if hasattr(pretext, "loss") else ""
            raise UsageError(f"pretrain.monitor=error has no meaning for pretrain={pretext.name}{with_loss}; use loss.")
    _check_metric(config.finetune.metric)
    check_search(config)
    parts: dict[str, Any] = {}
    wanted = method_facts(config).fields
    if "corruption" in wanted:
        parts |= {axis: build(axis, getattr(config, axis)) for axis in ("corruption", "selection")}
    if is_cotrained(config):
        asked = config.cotrain
        chosen = {"name": asked.task} | asked.options
        parts |= {
            "pretext": _pretext(config, chosen, "cotrain", asked.corruption, asked.loss, "cotrain."),
            "weight": asked.weight,
        }
    return CellParts(
        regime=build("regime", config.regime),
        splitting=build("split", config.split),
        scaling=build("scaling", config.scaling),
        encoding=build("encoding", encoding_of(config)),
        network=build("network", {"name": config.network.name} | config.network.encoder, "network.encoder"),
        method=build("method", config.method, **parts),
        pretext=pretext,
    )


def _check_metric(name: str | None) -> None:
    """Once plugins are loaded, for they may bring metrics."""
    from ..metrics import metrics

    known = [metric.name for metric in metrics()]
    if name is not None and name not in known:
        raise UsageError(f"finetune.metric={name} is unknown; the metrics are: {', '.join(known)}.")


def _pretext(
    config: Config, choice: Mapping[str, Any], place: str, corruption: Choice, loss: Choice, path: str = ""
) -> "Pretext":
    """A pretext with the parts that its fields ask for."""
    wanted = facts("pretrain", config.plugins)[choice["name"]].fields
    chosen = {
        "corruption": (f"{path}corruption", corruption),
        "loss": (f"{path}loss", loss),
        "selection": ("selection", config.selection),
    }
    parts = {axis: build(axis, asked, where) for axis, (where, asked) in chosen.items() if axis in wanted}
    pretext: Pretext = build("pretrain", choice, place, views=config.views.name, **parts)
    return pretext
