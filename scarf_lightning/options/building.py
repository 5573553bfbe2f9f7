"""The objects that a cell's configuration names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from ..errors import UsageError
from .axes import field_names, part, parts
from .checking import checked_options, refusals_at
from .combinations import check_combination
from .config import Config
from .option import Part, Values, options_of
from .settings import Choice

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
    # Looked up here for its error alone: a metric that does not exist is refused before anything trains.
    if config.finetune.metric is not None:
        metric_named(config.finetune.metric, option="metric")
    views, sections = config.views.name, {axis: getattr(config, axis) for axis in ("corruption", "selection", "loss")}
    pretext, added = None, dict[str, Any]()
    if config.is_pretrained:
        choice = {"name": config.pretrain.name} | config.pretrain.options
        pretext = build("pretrain", choice, sections=sections, views=views)
        # Only some losses have an error, such as a discriminator's.
        if config.pretrain.monitor == "error" and not pretext.has_error:
            raise UsageError(f"pretrain.monitor=error has no meaning for pretrain={pretext.name}; use loss.")
    if config.is_cotrained:
        task = {"name": config.cotrain.task} | config.cotrain.options
        own = sections | {"corruption": config.cotrain.corruption, "loss": config.cotrain.loss}
        added["pretext"] = build("pretrain", task, "cotrain", own, views=views)
        added["weight"] = config.cotrain.weight
    return CellParts(
        regime=build("regime", config.regime),
        splitting=build("split", config.split),
        scaling=build("scaling", config.scaling),
        encoding=build("encoding", config.used_encoding),
        network=build("network", {"name": config.network.name} | config.network.encoder, "network.encoder"),
        method=build("method", config.method, sections=sections, **added),
        pretext=pretext,
    )


def build(
    axis: str, choice: Values, place: str | None = None, sections: Mapping[str, Choice] | None = None, **added: Any
) -> Any:
    """The object that a choice of an axis names.

    Args:
        axis: of the part.
        choice: its name and its options.
        place: of its options; by default the axis.
        sections: choices of other axes. The part gets those for which it has a field.
        added: values for fields that are no options, if the part has them.

    Raises:
        UsageError: there is no such part, it has no such option, or it does not take a value or another part.
    """
    place, given = place or axis, dict(choice)
    cls = part(axis, given.pop("name", None), option=f"{place}.name")
    path, wanted = "cotrain." if place == "cotrain" else "", field_names(cls)
    composed = {name: value for name, value in added.items() if name in wanted}
    for other, section in (sections or {}).items():
        if other in wanted:
            composed[other] = build(other, section, path + other)
            _check_composed(cls, other, composed[other], f"{path}{other}={section['name']}", place)
    own = checked_options(options_of(cls), given, place)
    with refusals_at(place):
        return cls(**composed, **own)


def _check_composed(cls: Part, axis: str, other: Any, choice: str, place: str) -> None:
    """Refuse a part that is not of the kind that its field takes, such as a reconstruction for a contrastive loss."""
    kind = get_type_hints(cls)[axis]
    if not isinstance(other, kind):
        fitting = ", ".join(sorted(name for name, each in parts(axis).items() if issubclass(each, kind)))
        raise UsageError(f"{choice} does not go with {place}={cls.name}, which takes {fitting}.")
