"""The search for a trial's options on its validation rows (Optuna: Akiba et al. 2019, DOI 10.1145/3292500.3330701)."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..config import Config
from ..config.search_space import Range, options_of, search_space, with_options
from ..metrics import Metric, metric_named

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

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
    from optuna.trial import TrialState, create_trial

    optuna.logging.set_verbosity(optuna.logging.WARNING)  # a line a try is no use
    metric, space = tuning_metric(config), search_space(config)
    distributions = {name: _distribution(of_option) for name, of_option in space.items()}
    study = optuna.create_study(
        direction="maximize" if metric.higher_is_better else "minimize", sampler=optuna.samplers.TPESampler(seed=seed)
    )
    own = options_of(config, space)
    came, score = train(config)
    tries = [Try(own, score, came)]
    if all(_lies_in(value, distributions[name]) for name, value in own.items()):
        study.add_trial(
            create_trial(state=TrialState.FAIL, params=own, distributions=distributions)
            if math.isnan(score)
            else create_trial(value=score, params=own, distributions=distributions)
        )
    while len(tries) < config.tune:
        asked = study.ask(distributions)
        came, score = train(with_options(config, asked.params))
        study.tell(asked, None if math.isnan(score) else score, TrialState.FAIL if math.isnan(score) else None)
        tries.append(Try(dict(asked.params), score, came))
    return tries, _best([each.score for each in tries], metric)


def _best(scores: list[float], metric: Metric) -> int:
    """The first of the best scores; the first try, where all have diverged."""
    signed = [-math.inf if math.isnan(score) else metric.sign * score for score in scores]
    return signed.index(max(signed))


def _distribution(of_option: Range) -> "BaseDistribution":
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    kind, *values = of_option
    if kind == "one_of":
        return CategoricalDistribution(values)
    low, high = values
    is_log = kind in ("log", "log_int")
    return IntDistribution(low, high, is_log) if kind in ("int", "log_int") else FloatDistribution(low, high, is_log)


def _lies_in(value: Any, distribution: "BaseDistribution") -> bool:
    from optuna.distributions import CategoricalDistribution

    if isinstance(distribution, CategoricalDistribution):
        return value in distribution.choices
    return value is not None and distribution.low <= value <= distribution.high  # type: ignore[attr-defined]
