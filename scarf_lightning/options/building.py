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
    pretext, extras = None, dict[str, Any]()
    if config.is_pretrained:
        choice = {"name": config.pretrain.name} | config.pretrain.options
        pretext = build("pretrain", choice, sections=sections, views=views)
        # Only some losses have an error, such as a discriminator's.
        if config.pretrain.monitor == "error" and not pretext.has_error:
            raise UsageError(f"pretrain.monitor=error has no meaning for pretrain={pretext.name}; use loss.")
    if config.is_cotrained:
        task = {"name": config.cotrain.task} | config.cotrain.options
        task_sections = sections | {"corruption": config.cotrain.corruption, "loss": config.cotrain.loss}
        extras["pretext"] = build("pretrain", task, "cotrain", task_sections, views=views)
        extras["weight"] = config.cotrain.weight
    return CellParts(
        regime=build("regime", config.regime),
        splitting=build("split", config.split),
        scaling=build("scaling", config.scaling),
        encoding=build("encoding", config.used_encoding),
        network=build("network", {"name": config.network.name} | config.network.encoder, "network.encoder"),
        method=build("method", config.method, sections=sections, **extras),
        pretext=pretext,
    )


def build(
    axis: str, choice: Values, place: str | None = None, sections: Mapping[str, Choice] | None = None, **extras: Any
) -> Any:
    """The object that a choice of an axis names.

    Args:
        axis: of the part.
        choice: its name and its options.
        place: of its options; by default the axis.
        sections: choices of other axes. The part gets those for which it has a field.
        extras: values for fields that are no options, if the part has them.

    Raises:
        UsageError: there is no such part, it has no such option, or it does not take a value or another part.
    """
    place, options = place or axis, dict(choice)
    cls = part(axis, options.pop("name", None), option=f"{place}.name")
    path, names = "cotrain." if place == "cotrain" else "", field_names(cls)
    arguments = {name: value for name, value in extras.items() if name in names}
    for other_axis, section in (sections or {}).items():
        if other_axis in names:
            arguments[other_axis] = build(other_axis, section, path + other_axis)
            _check_kind(cls, other_axis, arguments[other_axis], f"{path}{other_axis}={section['name']}", place)
    values = checked_options(options_of(cls), options, place)
    with refusals_at(place):
        return cls(**arguments, **values)


def _check_kind(cls: Part, axis: str, other: Any, choice: str, place: str) -> None:
    """Refuse a part that is not of the kind that its field takes, such as a reconstruction for a contrastive loss."""
    kind = get_type_hints(cls)[axis]
    if not isinstance(other, kind):
        fitting = ", ".join(sorted(name for name, each in parts(axis).items() if issubclass(each, kind)))
        raise UsageError(f"{choice} does not go with {place}={cls.name}, which takes {fitting}.")
