"""The columns that models see: those that stand out from shadows, by the labels that train and nothing else."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import ttest_rel
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from scarf_lightning.data.features import Features, ForestFeatures, is_smaller, noise_threshold, out_of_bag_errors
from scarf_lightning.data.preprocessing import OneHotEncoding, ZScore
from scarf_lightning.data.table import Table
from scarf_lightning.data.targets import read_target
from scarf_lightning.data.trials import Few, Full, TrialData, prepare_trials
from scarf_lightning.randomness import Streams

N_ROWS, N_SIGNALS = 300, 12
FOREST = ForestFeatures(trees=25)


def noisy_frame(n_noise: int) -> pd.DataFrame:
    """A frame whose columns ``s0`` to ``s11`` follow its classes, beside columns of noise."""
    random = np.random.default_rng(0)
    classes = random.integers(2, size=N_ROWS)
    signals = classes[:, None] + 0.8 * random.normal(size=(N_ROWS, N_SIGNALS))
    frame = pd.DataFrame(signals, columns=[f"s{m}" for m in range(N_SIGNALS)])
    noise = pd.DataFrame(random.normal(size=(N_ROWS, n_noise)), columns=[f"n{m}" for m in range(n_noise)])
    return pd.concat([frame, noise], axis=1).assign(label=np.where(classes, "yes", "no"))


def table_of(frame: pd.DataFrame, kind: str = "classes") -> Table:
    x = frame.drop(columns="label")
    is_categorical = [not pd.api.types.is_numeric_dtype(x[name]) for name in x]
    target = read_target(frame["label"], "a test", kind)
    return Table.from_frame(x, target, categorical=is_categorical, name="noisy", source="a test")


NOISY = table_of(noisy_frame(60))


def prepare(table: Table, features: Features = FOREST, trials: Any = (0, 1), **options: Any) -> TrialData:
    chosen = {"regime": Full(), "scaling": ZScore(), "fit_on": "train"} | options
    return prepare_trials(table, trials, Streams(0, table.n_labelled), features=features, **chosen)


def seen(data: TrialData) -> np.ndarray[Any, Any]:
    """The columns that models see, ``(T, M)``."""
    return data.preprocessing.scale != 0


def test_columns_that_say_something_are_kept_and_most_noise_is_not() -> None:
    kept = seen(prepare(NOISY, trials=[0, 1]))
    assert kept[:, :N_SIGNALS].all()
    assert (kept[:, N_SIGNALS:].mean(axis=1) < 0.1).all()


@pytest.mark.parametrize(
    "dropped",
    [
        pytest.param([f"s{m}" for m in range(N_SIGNALS)], id="noise alone"),
        pytest.param([f"n{m}" for m in range(57)], id="three columns of noise and six that say something"),
    ],
)
def test_all_columns_stay_where_none_can_stand_out(dropped: list[str]) -> None:
    frame = noisy_frame(60).drop(columns=dropped)
    if len(frame.columns) < N_SIGNALS + 5:
        frame = frame.drop(columns=[f"s{m}" for m in range(6)])
    data = prepare(table_of(frame), trials=[0])
    assert seen(data).all()


@pytest.mark.parametrize("n_labels", [1, 2, 3])
@pytest.mark.parametrize("kind", ["classes", "number"])
@pytest.mark.filterwarnings("error")
def test_all_columns_stay_where_there_are_hardly_labels(kind: str, n_labels: int) -> None:
    frame = noisy_frame(60)
    if kind == "number":
        frame["label"] = frame["s0"]
    assert seen(prepare(table_of(frame, kind), trials=[0], regime=Few(labels=n_labels))).all()


def test_all_columns_stay_where_the_forest_needs_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    frame = noisy_frame(0)
    classes = (frame["label"] == "yes").to_numpy()
    weak = 0.35 * classes[:, None] + random.normal(size=(N_ROWS, 40))
    strong = 0.7 * classes[:, None] + random.normal(size=(N_ROWS, N_SIGNALS))
    columns = np.hstack([strong, weak])
    frame = pd.DataFrame(columns, columns=[f"x{m}" for m in range(52)]).assign(label=frame["label"])
    assert seen(prepare(table_of(frame), trials=[0])).all()
    # Without that rule it would leave some out.
    monkeypatch.setattr("scarf_lightning.data.features.is_smaller", lambda *_: True)
    assert 0.1 < seen(prepare(table_of(frame), trials=[0])).mean() < 0.9


def test_numbers_are_chosen_for_too() -> None:
    frame = noisy_frame(60)
    total = frame[[f"s{m}" for m in range(N_SIGNALS)]].sum(axis=1)
    kept = seen(prepare(table_of(frame.assign(label=total), "number"), trials=[0]))
    assert kept[:, :N_SIGNALS].sum() > 8
    assert kept[:, N_SIGNALS:].mean() < 0.1


def test_a_column_that_is_left_out_is_constant_with_its_categories_and_its_gaps() -> None:
    frame = noisy_frame(60)
    random = np.random.default_rng(1)
    frame.loc[random.random(N_ROWS) < 0.2, "n0"] = np.nan
    frame["colour"] = random.choice(["red", "green", "blue"], size=N_ROWS)
    table = OneHotEncoding(gaps=True).encode(table_of(frame))
    data = prepare(table, trials=[0])
    values = data.preprocessing.apply(table.values, 0)
    left_out = ~seen(data)[0]
    assert left_out[[table.columns.index(column) for column in table.columns if column.name in ("n0", "colour")]].all()
    assert (values[:, left_out] == 0).all(), "a gap would be missing here"
    assert np.ptp(values[:, ~left_out], axis=0).all()


@pytest.mark.slow
def test_the_choice_of_a_trial_is_its_own_and_looks_at_no_label_but_those_that_train() -> None:
    together = prepare(NOISY, trials=[0, 1], regime=Few(labels=150))
    alone = prepare(NOISY, trials=[1], regime=Few(labels=150))
    assert (seen(together)[1] == seen(alone)[0]).all()
    assert not seen(alone).all()
    hidden = np.setdiff1d(np.arange(N_ROWS), alone.labelled[0])
    frame = noisy_frame(60)
    frame.loc[hidden, "label"] = np.roll(frame.loc[hidden, "label"], 1)
    assert (seen(prepare(table_of(frame), trials=[1], regime=Few(labels=150))) == seen(alone)).all()
    frame = noisy_frame(60)
    frame["label"] = np.random.default_rng(2).permutation(frame["label"])
    assert (seen(prepare(table_of(frame), trials=[1], regime=Few(labels=150))) != seen(alone)).any()


@pytest.mark.slow
def test_rows_without_weight_have_no_say() -> None:
    weights = np.arange(N_ROWS) % 2.0
    frame = noisy_frame(60)
    other = frame.copy()
    other.loc[weights == 0, "label"] = np.roll(other.loc[weights == 0, "label"], 1)
    weighted = [seen(prepare(replace(table_of(each), weights=weights))) for each in (frame, other)]
    assert (weighted[0] == weighted[1]).all()
    assert (seen(prepare(table_of(frame))) != seen(prepare(table_of(other)))).any()


@pytest.mark.parametrize(
    ("of_columns", "of_shadows", "noise_share", "threshold"),
    [
        pytest.param([9, 8, 7, 6], [1, 2, 3, 4], 0.25, 6, id="all above all shadows"),
        pytest.param([9, 8, 7, 6], [1, 2, 3, 4], 0.2, None, id="the one that is added is too many"),
        pytest.param([9, 8, 7, 1], [7.5, 2, 3, 4], 0.5, 8, id="two above and no shadow; a third would let in one"),
        pytest.param([9, 8, 7, 6, 5, 4], [7.5, 0, 0, 0, 0, 0], 0.4, 4, id="more columns outweigh a shadow"),
        pytest.param([0, 0, 0], [0, 0, 0], 0.9, None, id="nothing says anything"),
    ],
)
def test_the_threshold_is_the_smallest_that_lets_in_so_little_noise(
    of_columns: list[float], of_shadows: list[float], noise_share: float, threshold: float | None
) -> None:
    assert noise_threshold(np.array(of_columns), np.array(of_shadows), noise_share) == threshold


@given(
    arrays(float, 8, elements=st.integers(0, 9)),
    arrays(float, 8, elements=st.integers(0, 9)),
    st.sampled_from([0.1, 0.2, 0.3, 0.5, 0.9]),
)
def test_no_smaller_threshold_would_do(of_columns: Any, of_shadows: Any, noise_share: float) -> None:
    allowed = []
    for candidate in range(10):
        n_columns, n_shadows = (of_columns >= candidate).sum(), (of_shadows >= candidate).sum()
        if candidate in of_columns and (1 + n_shadows) / n_columns <= noise_share:
            allowed.append(candidate)
    assert noise_threshold(of_columns, of_shadows, noise_share) == min(allowed, default=None)


@given(st.integers(0, 1000), st.floats(-1, 1))
def test_an_error_is_smaller_by_two_standard_errors_of_the_difference(seed: int, shift: float) -> None:
    random = np.random.default_rng(seed)
    errors, others = random.normal(size=(2, 30))
    others = others + shift
    # The t statistic, with the deviation of all rows and not that of a sample.
    statistic = ttest_rel(others, errors).statistic * np.sqrt(30 / 29)
    assert is_smaller(errors, others, None) is bool(statistic > 2)
    assert is_smaller(errors, others, np.full(30, 3.0)) is bool(statistic > 2)
    some = np.arange(30) < 20
    without_others = is_smaller(errors[some], others[some], None)
    assert is_smaller(errors, others, some.astype(float)) is without_others


@pytest.mark.parametrize("kind", ["classes", "number"])
def test_out_of_bag_errors_are_those_of_the_trees_that_have_not_seen_a_row(kind: str) -> None:
    table = table_of(
        noisy_frame(3).assign(label=lambda frame: frame["s0"]) if kind == "number" else noisy_frame(3), kind
    )
    forest = table.target.choose(classifier=RandomForestClassifier, regressor=RandomForestRegressor)
    fitted = forest(30, oob_score=True, random_state=0).fit(table.values, table.labels)
    expected = []
    for row in range(20):
        unseen = [tree for tree, rows in zip(fitted, fitted.estimators_samples_, strict=True) if row not in rows]
        values = table.values[[row]]
        if kind == "number":
            predicted = np.mean([tree.predict(values)[0] for tree in unseen])
            expected.append((predicted - table.labels[row]) ** 2)
        else:
            probabilities = np.mean([tree.predict_proba(values)[0] for tree in unseen], axis=0)
            expected.append(((probabilities - np.eye(2)[table.labels[row]]) ** 2).sum())
    np.testing.assert_allclose(out_of_bag_errors(fitted, table.labels)[:20], expected)
