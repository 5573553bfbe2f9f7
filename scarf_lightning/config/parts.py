"""The objects that a cell's configuration names."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .combinations import check_combination, is_pretrained
from .registry import build
from .schema import Config

if TYPE_CHECKING:
    from ..corruption import Corruption
    from ..data.regimes import Regime
    from ..data.scaling import Scaling
    from ..losses import ContrastiveLoss
    from ..methods import Method


@dataclass(frozen=True)
class Parts:
    """What a cell is made of; ``corruption`` and ``loss`` are None where nothing is pre-trained."""

    regime: "Regime"
    scaling: "Scaling"
    method: "Method"
    corruption: "Corruption | None"
    loss: "ContrastiveLoss | None"


def build_parts(config: Config) -> Parts:
    """Construct each part; imports torch.

    Raises:
        UsageError: a part is unknown, has an option that it does not know, or does not go with another.
    """
    check_combination(config)
    pretrained = is_pretrained(config)
    return Parts(
        regime=build("regime", config.regime),
        scaling=build("scaling", config.scaling),
        method=build("method", config.method),
        corruption=build("corruption", config.corruption) if pretrained else None,
        loss=build("loss", config.loss) if pretrained else None,
    )
