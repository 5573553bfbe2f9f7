"""The place where a cell meets its table: what it asks for and the table does not have is refused here."""

from typing import TYPE_CHECKING

from ..options.building import build
from ..options.combinations import check_labels, check_target
from ..randomness import Purpose, Streams
from .trials import Assigned

if TYPE_CHECKING:
    from ..options import Config
    from .splits import Splitting
    from .table import Table
    from .trials import Regime


def check_request(config: "Config", table: "Table") -> None:
    """Check a cell against its table, before anything trains.

    Raises:
        UsageError: the target does not go with the method, the metric or the weights; or the table has too few rows,
            labels, groups, times or parts for the split and for the regime.
    """
    check_labels(config, table.n_unlabelled)
    check_target(config, type(table.target))
    splitting: Splitting = build("split", config.split)
    regime: Regime = build("regime", config.regime)
    splitting.check(table, config.trials)
    streams = Streams(config.seed, table.n_labelled)
    # Where parts have the same sizes in every trial, the first one speaks for all.
    n_trials = config.trials if splitting.is_ragged(table) else 1
    for trial in range(n_trials):
        split = splitting.of_trial(table, trial, streams.numpy(trial, Purpose.SPLIT))
        Assigned.of(table, split, regime, streams, trial, lambda n: n >= config.watched_from, config.pretrain.rows)
