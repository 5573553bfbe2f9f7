"""The search for options: by trial, on the validation rows, the same every time."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from scarf_lightning.data.sources import DiabetesSource
from scarf_lightning.data.table import Table
from scarf_lightning.data.targets import Classes
from scarf_lightning.engine.hardware import Hardware, Promise
from scarf_lightning.engine.stack import Stack
from scarf_lightning.metrics import metric_named
from scarf_lightning.options import Config, build_parts
from scarf_lightning.options.search_space import search_space, with_options
from scarf_lightning.options.settings import PretrainSettings
from scarf_lightning.results import (
    CellStore,
    PretrainingStore,
    StackRecord,
    identity,
    load_cell,
    pretraining_identity,
)
from scarf_lightning.training.tuning import tune
from tests.cells import OF_WDBC
from tests.composing import config_of, default_choice, names
from tests.short_training import short, trained, training_of


def tuned(table: Table, *overrides: str, trials: tuple[int, ...] = (0, 1), n: int = 3) -> StackRecord:
    return trained(config_of(*overrides, f"tune={n}"), table, trials=trials)


FEW = ("method=logistic", "regime=few")
"""Of twenty labels. The solver takes long for all, which a plane separates, and a large C."""


@pytest.fixture(scope="module")
def logistic(wdbc: Table) -> StackRecord:
    """Two trials of logistic regression with three tries each; only read."""
    return tuned(wdbc, *FEW)


ACCURACY = metric_named("accuracy")
TIMES = ("seconds", "pretrain_seconds", "finetune_seconds")


def but_times(rows: Any) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in TIMES} for row in rows]


@pytest.mark.parametrize(
    "overrides", [FEW, pytest.param(("pretrain=scarf", "regime=few"), marks=pytest.mark.slow)], ids=str
)
def test_a_trial_is_tuned_alike_every_time_and_in_any_company(overrides: tuple[str, ...], wdbc: Table) -> None:
    n = 2
    both, alone = (tuned(wdbc, *overrides, trials=trials, n=n) for trials in ((0, 1), (1,)))

    assert but_times(both.rows[1:]) == but_times(alone.rows)
    assert but_times(both.tries[n:]) == but_times(alone.tries)


def test_the_first_try_is_the_cells_own_and_what_is_chosen_trains_to_the_same_numbers(
    logistic: StackRecord, wdbc: Table
) -> None:
    tries, row = logistic.tries[:3], logistic.rows[0]

    assert [each["try"] for each in tries] == [0, 1, 2]
    assert tries[0]["method.C"] == 1.0
    scores = [each["score"] for each in tries]
    (chosen,) = (each for each in tries if each["chosen"])
    assert chosen["try"] == scores.index(max(scores)), "the first of the best"
    assert chosen["metric"] == "accuracy"
    by_hand = trained(with_options(config_of(*FEW), {"method.C": chosen["method.C"]}), wdbc, trials=(0,))
    for metric in ("accuracy", "log_loss", "auroc"):
        assert row[metric] == pytest.approx(by_hand.rows[0][metric], abs=1e-9)
    assert row["fits"] == 3
    assert row["pretrain_seconds"] is None
    assert row["finetune_seconds"] == pytest.approx(sum(each["seconds"] for each in tries)), "the time of all tries"


def test_scores_are_those_of_the_validation_rows(wdbc: Table) -> None:
    asked = (*FEW, "finetune.metric=log_loss")
    data = training_of(config_of(*asked), wdbc).stack([0]).data
    record = tuned(wdbc, *asked, trials=(0,))

    rows = [data.preprocessing.apply(wdbc.values[of[0]], 0) for of in (data.labelled, data.validation)]
    labels = [wdbc.labels[of[0]] for of in (data.labelled, data.validation)]
    for each in record.tries:
        direct = LogisticRegression(C=each["method.C"], max_iter=10_000).fit(rows[0], labels[0])
        assert each["metric"] == "log_loss"
        # The solver stops at another step on rows of float32; with a large C that is a difference of 0.001.
        assert each["score"] == pytest.approx(log_loss(labels[1], direct.predict_proba(rows[1])), abs=2e-3)
    assert [each["chosen"] for each in record.tries].index(True) == np.argmin([each["score"] for each in record.tries])


# An estimator by its name has the options that its user gives, which nobody here knows the ranges of. The commonest
# answer has none.
@pytest.mark.parametrize("method", sorted({*names("method")} - {"constant", "sklearn"}))
def test_every_method_has_something_to_search_for_and_its_ends_are_allowed(method: str) -> None:
    config = replace(config_of("pretrain=none", "regime=few"), method=default_choice("method", method))
    space = search_space(config)

    assert space
    assert {kind for kind, *_ in space.values()} <= {"float", "int", "log", "log_int", "one_of"}
    for end in (1, -1):
        build_parts(with_options(config, {name: values[end] for name, values in space.items()}))


def scored(config: Config, scores: list[float]) -> tuple[list[Any], int]:
    given = iter(scores)
    return tune(config, ACCURACY, 7, lambda tried: (tried.method["C"], next(given)))


def test_numbers_are_tuned_by_their_own_metric() -> None:
    record = tuned(DiabetesSource().load(), "method=ridge", trials=(0,))

    assert {each["metric"] for each in record.tries} == {"rmse"}
    scores = [each["score"] for each in record.tries]
    assert [each["chosen"] for each in record.tries].index(True) == int(np.argmin(scores))


def test_rare_classes_are_tuned_by_the_metric_that_tables_lead_with(wdbc: Table) -> None:
    rare = replace(wdbc, target=Classes(wdbc.target.plain()["classes"], rarest=0.05))
    assert rare.target.metric == "balanced_accuracy"

    for asked, metric in (((), "balanced_accuracy"), (("finetune.metric=auroc",), "auroc")):
        tries = tuned(rare, "method=logistic", *asked, trials=(0,), n=1).tries
        assert [each["metric"] for each in tries] == [metric]


def test_a_try_that_diverged_is_never_chosen_while_another_is_there() -> None:
    config = config_of("method=logistic", "tune=3")

    tries, best = scored(config, [float("nan"), 0.2, 0.9])
    assert best == 2
    assert [each.result for each in tries] == [each.options["method.C"] for each in tries]
    assert scored(config, [float("nan")] * 3)[1] == 0
    assert scored(config, [0.5] * 3)[1] == 0


def test_one_of_several_values_is_suggested_as_it_is_written() -> None:
    config = config_of("method=random_forest", "tune=12")
    seen: list[Config] = []

    tries, _ = tune(config, ACCURACY, 7, lambda tried: (seen.append(tried), 0.5))

    assert tries[0].options["method.max_features"] == "sqrt", "the first is the cell's own"
    assert {each.options["method.max_features"] for each in tries} == {"sqrt", "log2", "half", "all"}
    assert {each.options["method.max_depth"] for each in tries} <= {None, 4, 8, 16}
    assert [each.options["method.max_depth"] for each in tries] == [each.method["max_depth"] for each in seen]


def test_a_first_try_outside_of_the_ranges_is_tried_too() -> None:
    tries, best = scored(config_of("method=logistic", "method.C=1e6", "tune=2"), [0.9, 0.2])

    assert [each.options["method.C"] <= 1e4 for each in tries] == [False, True]
    assert tries[best].options == {"method.C": 1e6}


@pytest.mark.parametrize("promise", [Promise.EXACT, Promise.FIXED])
def test_a_try_with_other_options_takes_no_pretraining_of_the_cells_own(
    promise: Promise, wdbc: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where numbers depend on the stack, the first try leaves the cache alone too: its trial trains alone."""
    monkeypatch.setattr(Hardware, "promise", promise)
    config = short(config_of("pretrain=scarf", "tune=2"))
    cache = PretrainingStore(tmp_path, pretraining_identity(config, wdbc.hash), max_gb=1)
    rates, train = [], Stack.pretrain

    def spy(stack: Stack, settings: PretrainSettings, *others: Any) -> Any:
        rates.append(settings.learning_rate)
        return train(stack, settings, *others)

    monkeypatch.setattr(Stack, "pretrain", spy)
    record = trained(config, wdbc, trials=[0], cache=cache)

    assert rates == [each["pretrain.learning_rate"] for each in record.tries]
    assert len(set(rates)) == 2
    assert cache.missing([0]) == ([] if promise is Promise.EXACT else [0])


def test_it_is_optunas_estimator_with_the_first_try_told() -> None:
    config = config_of("method=logistic", "tune=15")
    score = {}

    def train(tried: Config) -> tuple[None, float]:
        score[len(score)] = -abs(np.log10(tried.method["C"]) - 2)
        return None, score[len(score) - 1]

    tries, _ = tune(config, ACCURACY, 11, train)

    def objective(trial: optuna.Trial) -> float:
        asked.append(trial.suggest_float("method.C", 1e-4, 1e4, log=True))
        return float(-abs(np.log10(asked[-1]) - 2))

    asked: list[float] = []
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=11))
    study.enqueue_trial({"method.C": 1.0})
    study.optimize(objective, n_trials=15)
    assert asked == [each.options["method.C"] for each in tries]


def test_the_history_is_kept_with_its_hash(logistic: StackRecord, wdbc: Table, tmp_path: Path) -> None:
    config = config_of(*FEW, "tune=3")
    store = CellStore(tmp_path, identity(config, wdbc.hash))
    store.describe(dataset="wdbc", dataset_id=1510, source="somewhere", **OF_WDBC)
    store.add(logistic)

    kept = load_cell(store.fingerprint, tmp_path).tries
    assert kept.to_dict("records") == list(logistic.tries)

    (file,) = store.folder.glob("stacks/*/tries.parquet")
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    assert store.missing([0, 1]) == [0, 1], "a damaged history is a damaged record"
