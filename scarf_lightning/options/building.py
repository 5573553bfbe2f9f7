"""The objects that a cell's configuration names."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, get_type_hints

from ..errors import UsageError
from .axes import BASES, part, parts
from .checking import checked_options
from .combinations import check_combination, encoding_of, is_cotrained, is_pretrained, method_of
from .search_space import check_search
from .settings import Choice, Config

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
    """Construct each part.

    Raises:
        UsageError: a part is unknown, has an option that it does not know, or does not go with another.
    """
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
    composed: dict[str, Any] = {}
    wanted = {field.name for field in fields(method_of(config))}
    if "corruption" in wanted:
        composed |= {axis: build(axis, getattr(config, axis)) for axis in ("corruption", "selection")}
    if is_cotrained(config):
        asked = config.cotrain
        chosen = {"name": asked.task} | asked.options
        composed |= {
            "pretext": _pretext(config, chosen, "cotrain", asked.corruption, asked.loss, "cotrain."),
            "weight": asked.weight,
        }
    return CellParts(
        regime=build("regime", config.regime),
        splitting=build("split", config.split),
        scaling=build("scaling", config.scaling),
        encoding=build("encoding", encoding_of(config)),
        network=build("network", {"name": config.network.name} | config.network.encoder, "network.encoder"),
        method=build("method", config.method, **composed),
        pretext=pretext,
    )


def build(axis: str, choice: Mapping[str, Any], place: str | None = None, **composed: Any) -> Any:
    """The object that a choice of an axis names. Its options stand at ``place``; fields that are no options hold the
    other parts ``composed``.

    Raises:
        UsageError: there is no such part, it has no such option, or it does not take a value or another part.
    """
    place = place or axis
    chosen = part(axis, choice.get("name"), option=f"{place}.name")
    given = {key: value for key, value in choice.items() if key != "name"}
    taken = {field.name: composed[field.name] for field in fields(chosen) if field.name in composed}
    _check_composed(chosen, taken, place, "" if place == axis else f"{place}.")
    own = checked_options(chosen, given, place)
    try:
        return chosen(**taken, **own)
    except UsageError:
        raise
    except ValueError as error:
        raise UsageError(f"{place}.{error}.") from error


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
    wanted = {field.name for field in fields(part("pretrain", choice["name"], config.plugins))}
    chosen = {
        "corruption": (f"{path}corruption", corruption),
        "loss": (f"{path}loss", loss),
        "selection": ("selection", config.selection),
    }
    composed = {axis: build(axis, asked, where) for axis, (where, asked) in chosen.items() if axis in wanted}
    pretext: Pretext = build("pretrain", choice, place, views=config.views.name, **composed)
    return pretext


def _check_composed(cls: type[Any], composed: Mapping[str, Any], place: str, path: str) -> None:
    """Refuse a part that is not of the kind that its field takes."""
    hints = get_type_hints(cls)
    for axis, other in composed.items():
        kind = hints[axis]
        if axis in BASES and not isinstance(other, kind):
            fitting = sorted(name for name, option in parts(axis).items() if issubclass(option, kind))
            raise UsageError(
                f"{path}{axis}={other.name} does not go with {place}={cls.name}, which takes {', '.join(fitting)}."
            )
