"""The objects that a cell's configuration names."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from ..errors import UsageError
from .axes import BASES, field_names, part, parts
from .checking import checked_options, refused
from .combinations import check_combination
from .config import Config
from .option import Part, Values, options_of
from .settings import Choice, CotrainSettings

if TYPE_CHECKING:
    from ..data.preprocessing import Encoding, Scaling
    from ..data.splits import Splitting
    from ..data.trials import Regime
    from ..methods import Method
    from ..networks import Network
    from ..pretexts import Pretext


@dataclass(frozen=True)
class CellParts:
    """The parts of a cell.

    Attributes:
        regime, splitting, scaling, encoding, network, method: one of each.
        pretext: of its pre-training; None without one.
    """

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
    from ..metrics import metric_named

    check_combination(config)
    pretext = None
    if config.is_pretrained:
        pretext = _pretext(config, "pretrain", {"name": config.pretrain.name} | config.pretrain.options, config)
        # Only some losses have an error, such as that of a discriminator.
        if config.pretrain.monitor == "error" and not pretext.has_error:
            loss = f" with loss={config.loss['name']}" if hasattr(pretext, "loss") else ""
            raise UsageError(f"pretrain.monitor=error has no meaning for pretrain={pretext.name}{loss}; use loss.")
    # Looked up here for its error alone: a metric that does not exist is refused before anything trains.
    if config.finetune.metric is not None:
        # ``metric`` sets both.
        is_both = config.finetune.metric == config.metric
        metric_named(config.finetune.metric, option="metric" if is_both else "finetune.metric")
    composed = _asked_for(config.part("method"), config, "", config)
    if config.is_cotrained:
        chosen = {"name": config.cotrain.task} | config.cotrain.options
        composed = {
            "pretext": _pretext(config, "cotrain", chosen, config.cotrain),
            "weight": config.cotrain.weight,
        }
    return CellParts(
        regime=build("regime", config.regime),
        splitting=build("split", config.split),
        scaling=build("scaling", config.scaling),
        encoding=build("encoding", config.used_encoding),
        network=build("network", {"name": config.network.name} | config.network.encoder, "network.encoder"),
        method=build("method", config.method, **composed),
        pretext=pretext,
    )


def build(axis: str, choice: Values, place: str | None = None, **composed: Any) -> Any:
    """The object that a choice of an axis names. Its options stand at ``place``; fields that are no options hold the
    other parts ``composed``.

    Raises:
        UsageError: there is no such part, it has no such option, or it does not take a value or another part.
    """
    place = place or axis
    given = dict(choice)
    cls = part(axis, given.pop("name", None), option=f"{place}.name")
    # Not every part has a field for each of them.
    taken = {name: composed[name] for name in composed.keys() & field_names(cls)}
    _check_composed(cls, taken, place, "" if place == axis else f"{place}.")
    own = checked_options(options_of(cls), given, place)
    try:
        return cls(**taken, **own)
    except UsageError:
        raise
    except ValueError as error:
        raise refused(place, error) from error


def _pretext(config: Config, place: str, choice: Choice, source: Config | CotrainSettings) -> "Pretext":
    """A pretext whose corruption and loss are those of ``source``."""
    prefix = "" if source is config else f"{place}."
    composed = _asked_for(part("pretrain", choice["name"]), config, prefix, source)
    pretext: Pretext = build("pretrain", choice, place, views=config.views.name, **composed)
    return pretext


def _asked_for(cls: Part, config: Config, prefix: str, source: Config | CotrainSettings) -> dict[str, Any]:
    """The corruption, the selection and the loss that the fields of a part ask for."""
    wanted, composed = field_names(cls), dict[str, Any]()
    for axis in ("corruption", "loss"):
        if axis in wanted:
            composed[axis] = build(axis, getattr(source, axis), f"{prefix}{axis}")
    if "selection" in wanted:
        composed["selection"] = build("selection", config.selection)
    return composed


def _check_composed(cls: Part, composed: Values, place: str, path: str) -> None:
    """Refuse a part that is not of the kind that its field takes."""
    types = get_type_hints(cls)
    for axis, other in composed.items():
        kind = types[axis]
        # Such as a reconstruction where a contrastive loss is needed.
        if axis in BASES and not isinstance(other, kind):
            fitting = sorted(name for name, option in parts(axis).items() if issubclass(option, kind))
            raise UsageError(
                f"{path}{axis}={other.name} does not go with {place}={cls.name}, which takes {', '.join(fitting)}."
            )
