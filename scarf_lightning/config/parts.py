"""The objects that a cell's configuration names."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import UsageError
from .combinations import check_combination, is_augmented, is_cotrained, is_pretrained
from .plugins import load_plugins
from .registry import build
from .schema import PRETEXT_TASKS, Choice, Config

if TYPE_CHECKING:
    from ..data.regimes import Regime
    from ..data.scaling import Scaling
    from ..data.splits import Splitting
    from ..methods import Method
    from ..modules.variants import Cotrained
    from ..modules.views import Augmentation, PretextTask


@dataclass(frozen=True)
class Parts:
    """What a cell is made of; None stands for what it does without."""

    regime: "Regime"
    splitting: "Splitting"
    scaling: "Scaling"
    method: "Method"
    pretext: "PretextTask | None"
    augmentation: "Augmentation | None"
    cotraining: "Cotrained | None"


def build_parts(config: Config) -> Parts:
    """Construct each part; imports torch.

    Raises:
        UsageError: a part is unknown, has an option that it does not know, or does not go with another.
    """
    from ..modules.variants import Cotrained

    load_plugins(config.plugins)
    check_combination(config)
    pretext, cotraining = None, None
    if is_pretrained(config):
        pretext = _task(config, "", config.pretrain.name, config.corruption, config.loss)
        if config.pretrain.monitor == "error" and not pretext.loss.has_error:
            raise UsageError(f"pretrain.monitor=error has no meaning for loss={pretext.loss.name}; use loss.")
    if is_cotrained(config):
        chosen = config.cotrain
        cotraining = Cotrained(_task(config, "cotrain.", chosen.task, chosen.corruption, chosen.loss), chosen.weight)
    return Parts(
        regime=build("regime", config.regime),
        splitting=build("split", config.split),
        scaling=build("scaling", config.scaling),
        method=build("method", config.method),
        pretext=pretext,
        augmentation=_augmentation(config, config.corruption, "") if is_augmented(config) else None,
        cotraining=cotraining,
    )


def _task(config: Config, path: str, name: str, corruption: Choice, loss: Choice) -> "PretextTask":
    from ..modules.views import PretextTask

    built = build("loss", loss, path)
    if built.task != PRETEXT_TASKS[name]:
        option = "cotrain" if path else "pretrain"
        raise UsageError(
            f"{path}loss={built.name} does not go with {option}={name}, whose task is {PRETEXT_TASKS[name]}."
        )
    views = config.views.name if built.task == "contrastive" else "one"
    return PretextTask(_augmentation(config, corruption, path), built, views)  # type: ignore[arg-type]


def _augmentation(config: Config, corruption: Choice, path: str) -> "Augmentation":
    from ..modules.views import Augmentation

    return Augmentation(build("corruption", corruption, path), build("selection", config.selection))
