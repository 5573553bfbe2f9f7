"""The search for a trial's options on its validation rows (Optuna: Akiba et al. 2019, DOI 10.1145/3292500.3330701)."""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..metrics import Metric, metric_named
from ..options import Config
from ..options.search_space import Range, options_of, search_space, with_options

if TYPE_CHECKING:
    from optuna.trial import Trial

    from ..data.targets import Target

T = TypeVar("T")


@dataclass(frozen=True)
class Try(Generic[T]):
    """One try of a trial: its options, its score on the validation rows (NaN if it diverged), and what it returned."""

    options: Mapping[str, Any]
    score: float
    result: T


def tuning_metric(config: Config, target: "Target") -> Metric:
    """The metric that ranks the tries: the one that is chosen, or the one that tables of this target lead with."""
    return metric_named(config.finetune.metric or target.metric)


def tune(
    config: Config, metric: Metric, seed: int, train: Callable[[Config], tuple[T, float]]
) -> tuple[list[Try[T]], int]:
    """Try ``config.tune`` configurations: the cell's own, then those that Optuna's tree-structured Parzen estimator
    suggests.

    Args:
        metric: ranks the tries. Ties go to the first try, which uses the cell's own options.
        train: returns a result and its score by this metric.

    Returns:
        The tries in order, and the position of the first best one; 0 if all diverged.
    """
    import optuna
    from optuna.trial import TrialState

    # Otherwise it prints a line for each try.
    optuna.logging.set_verbosity(logging.WARNING)
    space = search_space(config)
    direction = "maximize" if metric.higher_is_better else "minimize"
    study = optuna.create_study(direction=direction, sampler=optuna.samplers.TPESampler(seed=seed))

    def tell(asked: "Trial", score: float) -> None:
        if math.isnan(score):
            study.tell(asked, state=TrialState.FAIL)
        else:
            study.tell(asked, score)

    own = options_of(config, space)
    result, score = train(config)
    tries = [Try(own, score, result)]
    # The study learns from the cell's own options only if it could have suggested them.
    if all(_lies_in(value, space[name]) for name, value in own.items()):
        study.enqueue_trial(own)
        first = study.ask()
        for name, option_range in space.items():
            _suggest(first, name, option_range)
        tell(first, score)
    while len(tries) < config.tune:
        asked = study.ask()
        options = {name: _suggest(asked, name, option_range) for name, option_range in space.items()}
        result, score = train(with_options(config, options))
        tell(asked, score)
        tries.append(Try(options, score, result))
    return tries, _first_best(tries, metric)


def _first_best(tries: Sequence[Try[T]], metric: Metric) -> int:
    """The position of the first best try; a try that diverged is worse than any other."""
    scores = []
    for each in tries:
        scores.append(-math.inf if math.isnan(each.score) else metric.sign * each.score)
    return scores.index(max(scores))


def _suggest(trial: "Trial", name: str, option_range: Range) -> Any:
    """The value that the search suggests for an option."""
    kind, *values = option_range
    if kind == "one_of":
        return trial.suggest_categorical(name, values)
    low, high = values
    suggest = trial.suggest_int if kind in ("int", "log_int") else trial.suggest_float
    return suggest(name, low, high, log=kind in ("log", "log_int"))


def _lies_in(value: Any, option_range: Range) -> bool:
    """True if the search could suggest the value."""
    kind, *values = option_range
    if kind == "one_of":
        return value in values
    return value is not None and values[0] <= value <= values[1]
