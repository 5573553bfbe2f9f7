"""The objects that a cell's configuration names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from .combinations import check_combination, is_cotrained, is_pretrained
from .plugins import load_plugins
from .registry import build
from .schema import Choice, Config

if TYPE_CHECKING:
    from ..data.regimes import Regime
    from ..data.scaling import Scaling
    from ..methods import Method
    from ..networks import Network
    from ..pretexts import Pretext


@dataclass(frozen=True)
class Parts:
    """What a cell is made of; without pre-training there is no pretext."""

    regime: "Regime"
    scaling: "Scaling"
    network: "Network"
    method: "Method"
    pretext: "Pretext | None"


def build_parts(config: Config) -> Parts:
    """Construct each part; imports torch.

    Raises:
        UsageError: a part is unknown, has an option that it does not know, or does not go with another.
    """
    load_plugins(config.plugins)
    check_combination(config)
    selection = build("selection", config.selection)
    pretext = None
    if is_pretrained(config):
        chosen = {"name": config.pretrain.name} | config.pretrain.options
        pretext = _pretext(config, chosen, "pretrain", selection, config.corruption, config.loss)
        if config.pretrain.monitor == "error" and not pretext.has_error:
            with_loss = f" with loss={config.loss['name']}" if hasattr(pretext, "loss") else ""
            raise UsageError(f"pretrain.monitor=error has no meaning for pretrain={pretext.name}{with_loss}; use loss.")
    parts: dict[str, Any] = {"selection": selection, "corruption": build("corruption", config.corruption)}
    if is_cotrained(config):
        asked = config.cotrain
        chosen = {"name": asked.task} | asked.options
        parts["pretext"] = _pretext(config, chosen, "cotrain", selection, asked.corruption, asked.loss, "cotrain.")
        parts["weight"] = asked.weight
    return Parts(
        regime=build("regime", config.regime),
        scaling=build("scaling", config.scaling),
        network=build("network", {"name": config.network.name} | config.network.encoder, "network.encoder"),
        method=build("method", config.method, **parts),
        pretext=pretext,
    )


def _pretext(
    config: Config,
    choice: Mapping[str, Any],
    place: str,
    selection: Any,
    corruption: Choice,
    loss: Choice,
    path: str = "",
) -> "Pretext":
    pretext: Pretext = build(
        "pretrain",
        choice,
        place,
        corruption=build("corruption", corruption, f"{path}corruption"),
        selection=selection,
        loss=build("loss", loss, f"{path}loss"),
        views=config.views.name,
    )
    return pretext
