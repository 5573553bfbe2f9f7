"""The objects that a cell's configuration names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from .combinations import check_combination, encoding_of, is_cotrained, is_pretrained, method_facts
from .facts import facts
from .plugins import load_plugins
from .registry import build
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
