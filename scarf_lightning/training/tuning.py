"""The search for a trial's options on its validation rows (Optuna: Akiba et al. 2019, DOI 10.1145/3292500.3330701)."""

import logging
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..config import Config
from ..config.search_space import Range, options_of, search_space, with_options
from ..metrics import Metric, metric_named

if TYPE_CHECKING:
    from optuna.trial import Trial

T = TypeVar("T")

DEFAULT_METRIC = "accuracy"
"""What decides where ``finetune.metric`` names none. Of equal tries the first counts: the cell's own options are it."""


@dataclass(frozen=True)
class Try(Generic[T]):
    """One try of a trial: its options, what it scored on the validation rows (NaN where it diverged), what came."""

    options: Mapping[str, Any]
    score: float
    came: T


def tuning_metric(config: Config) -> Metric:
    """What the tries are judged by."""
    return metric_named(config.finetune.metric or DEFAULT_METRIC)


def tune(config: Config, seed: int, train: Callable[[Config], tuple[T, float]]) -> tuple[list[Try[T]], int]:
    """Try ``config.tune`` settings: the configuration's own, then what Optuna's tree-structured Parzen estimator asks.

    Args:
        config: the cell's.
        seed: of the search in this trial.
        train: trains a configuration; returns what comes of it and its score by `tuning_metric`.

    Returns:
        The tries in their order, and which is the best one.
    """
    import optuna
    from optuna.trial import TrialState

    optuna.logging.set_verbosity(logging.WARNING)  # a line a try is no use
    # Optuna 2.10 warns of what later versions have settled.
    warnings.filterwarnings("ignore", module="optuna")
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    metric, space = tuning_metric(config), search_space(config)
    study = optuna.create_study(
        direction="maximize" if metric.higher_is_better else "minimize", sampler=optuna.samplers.TPESampler(seed=seed)
    )

    def tell(asked: "Trial", score: float) -> None:
        if math.isnan(score):
            study.tell(asked, state=TrialState.FAIL)
        else:
            study.tell(asked, score)

    own = options_of(config, space)
    came, score = train(config)
    tries = [Try(own, score, came)]
    if all(_lies_in(value, space[name]) for name, value in own.items()):
        study.enqueue_trial(own)
        first = study.ask()
        for name, of_option in space.items():
            _suggest(first, name, of_option)
        tell(first, score)
    while len(tries) < config.tune:
        asked = study.ask()
        options = {name: _suggest(asked, name, of_option) for name, of_option in space.items()}
        came, score = train(with_options(config, options))
        tell(asked, score)
        tries.append(Try(options, score, came))
    return tries, _best([each.score for each in tries], metric)


def _best(scores: list[float], metric: Metric) -> int:
    """The first of the best scores; the first try, where all have diverged."""
    signed = [-math.inf if math.isnan(score) else metric.sign * score for score in scores]
    return signed.index(max(signed))


def _suggest(trial: "Trial", name: str, of_option: Range) -> Any:
    """What the search asks of an option, in words that every version of Optuna since 2.10 understands."""
    kind, *values = of_option
    if kind == "one_of":
        return trial.suggest_categorical(name, values)
    low, high = values
    suggest = trial.suggest_int if kind in ("int", "log_int") else trial.suggest_float
    return suggest(name, low, high, log=kind in ("log", "log_int"))


def _lies_in(value: Any, of_option: Range) -> bool:
    kind, *values = of_option
    if kind == "one_of":
        return value in values
    return value is not None and values[0] <= value <= values[1]
