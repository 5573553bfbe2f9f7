import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from scarf_lightning.data.preprocessing import Mean, MinMax, NoScaling, ZScore
from scarf_lightning.data.splits import Random, Split, Splitting, Stratified
from scarf_lightning.data.table import Table
from scarf_lightning.data.targets import Classes
from scarf_lightning.data.trials import (
    Few,
    Full,
    Noise30,
    Regime,
    RowRules,
    Semi25,
    TrialData,
    TrialRows,
    prepare_trials,
    validating_share,
)  # fmt: skip
from scarf_lightning.errors import UsageError
from scarf_lightning.randomness import Streams
from scarf_lightning.sweeping.cell import check_data
from tests.composing import cells_of

REGIMES: list[Regime] = [Full(), Semi25(), Noise30()]
INSIDE: list[Regime] = [replace(regime, validation="inside") for regime in REGIMES]
ROWS = [each.name for each in fields(TrialRows)]
SPLIT = ("train", "watched", "test")
STREAMS = Streams(0, 200)

every_regime = pytest.mark.parametrize("regime", REGIMES, ids=lambda r: r.name)
every_inside = pytest.mark.parametrize("regime", INSIDE, ids=lambda r: r.name)
every_fit = pytest.mark.parametrize("fit_on", ["all", "train"])


def prepare(table: Table, trials: Any, *, streams: Streams | None = None, **options: Any) -> TrialData:
    how = {name: options.pop(name, usual) for name, usual in (("scaling", ZScore()), ("fit_on", "all"))}
    rules = RowRules(**{"regime": Full()} | options)
    return prepare_trials(table, trials, streams or Streams(0, table.n_labelled), rules, **how)


def assert_same(found: Any, expected: Any, names: Any) -> None:
    for name in names:
        assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


def never(n_labels: int) -> bool:
    """Of a supervised phase that stops and chooses by nothing."""
    return False


@pytest.mark.parametrize(
    "options",
    [*({"regime": each} for each in REGIMES), *({"scaling": each} for each in (MinMax(), Mean(), NoScaling()))],
    ids=str,
)
@every_fit
def test_every_method_sees_the_same_split(mixed_table: Table, options: dict[str, Any], fit_on: str) -> None:
    assert_same(prepare(mixed_table, range(3), fit_on=fit_on, **options), prepare(mixed_table, range(3)), SPLIT)


@pytest.mark.parametrize("streams", [Streams(1, 60), Streams(0, 99)], ids=["seed", "labels"])
def test_another_seed_or_number_of_labels_has_other_splits(mixed_table: Table, streams: Streams) -> None:
    assert (prepare(mixed_table, [0], streams=streams).train != prepare(mixed_table, [0]).train).any()


NUMBERS = pd.DataFrame(np.random.default_rng(4).normal(size=(90, 3)), columns=["a", "b", "c"])
CLASS = pd.Series(np.where(NUMBERS["a"] + NUMBERS["b"] > 0, "yes", "no"))


def table_of(frame: pd.DataFrame = NUMBERS, target: "pd.Series[Any]" = CLASS) -> Table:
    return Table.from_frame(frame, target, categorical=[False] * frame.shape[1], name="made up", source="a test")


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(table_of(NUMBERS.rename(columns={"a": "age"})), id="a column renamed"),
        pytest.param(table_of(NUMBERS.assign(d=1 / NUMBERS["a"])), id="a column added"),
        pytest.param(table_of(NUMBERS[["c", "a"]]), id="columns in another order, and one dropped"),
        pytest.param(table_of(NUMBERS + 1e-9), id="cells mended"),
        pytest.param(table_of(target=CLASS.map({"yes": "b", "no": "a"})), id="classes renamed"),
        pytest.param(table_of().weighted(np.arange(1.0, 91)), id="weights"),
    ],
)
@pytest.mark.parametrize("splitting", [Random(), Stratified()], ids=lambda each: each.name)
@every_regime
def test_a_table_that_is_read_otherwise_keeps_its_rows(changed: Table, splitting: Splitting, regime: Regime) -> None:
    """The same rows are tested, the same rows keep a label, and the same labels are redrawn."""
    before, after = (prepare(each, range(2), regime=regime, splitting=splitting) for each in (table_of(), changed))
    assert_same(after, before, ROWS)


@pytest.mark.parametrize("regime", [*REGIMES, *INSIDE], ids=lambda r: f"{r.name} {r.validation}")
@every_fit
def test_a_trial_does_not_depend_on_those_it_is_prepared_with(mixed_table: Table, regime: Regime, fit_on: str) -> None:
    """Nor on those that it is taken out of."""
    every = prepare(mixed_table, range(6), regime=regime, fit_on=fit_on)
    for chosen in ([3], [4, 1, 5]):
        for some in (prepare(mixed_table, chosen, regime=regime, fit_on=fit_on), every.of(chosen)):
            assert some.trials == tuple(chosen)
            for name in ROWS:
                assert_array_equal(getattr(some, name), getattr(every, name)[chosen], strict=True)
            for name, array in some.preprocessing.arrays().items():
                assert_array_equal(array, every.preprocessing.arrays()[name][chosen])
            assert some.preprocessing.is_shared is (fit_on == "all")


@pytest.mark.parametrize(("regime", "n_shown", "most_wrong"), [(Full(), 42, 0), (Semi25(), 10, 0), (Noise30(), 42, 13)])
def test_a_regime_shows_labels_that_train(mixed_table: Table, regime: Regime, n_shown: int, most_wrong: int) -> None:
    before = mixed_table.labels.copy()
    data = prepare(mixed_table, range(30), regime=regime)
    assert data.labelled.shape == data.labels.shape == (30, n_shown)
    wrong = (data.labels != mixed_table.labels[data.labelled]).sum(axis=1)
    assert wrong.max() <= most_wrong
    assert wrong.min() > 0 or most_wrong == 0
    for labelled, train in zip(data.labelled, data.train, strict=True):
        assert len(set(labelled)) == n_shown
        assert set(labelled) <= set(train)
    assert_array_equal(data.validation_labels, mixed_table.labels[data.validation])
    assert_array_equal(mixed_table.labels, before)


@every_inside
def test_labels_inside_are_as_many_as_the_regime_shows_of_all_but_test_rows(mixed_table: Table, regime: Regime) -> None:
    n_shown = 12 if regime.hides_labels else 48
    watching, alone = (prepare(mixed_table, range(4), regime=regime, watches=each) for each in (lambda n: True, never))
    assert watching.labelled.shape[1] + watching.n_labels_inside == n_shown
    assert watching.n_labels_inside == watching.validation.shape[1]
    assert (alone.labelled.shape, alone.validation.shape, alone.n_labels_inside) == ((4, n_shown), (4, 0), 0)
    for t in range(4):
        both = np.concatenate([watching.labelled[t], watching.validation[t]])
        labels = np.concatenate([watching.labels[t], watching.validation_labels[t]])
        assert dict(zip(both, labels, strict=True)) == dict(zip(alone.labelled[t], alone.labels[t], strict=True))
        assert set(alone.usable[t]) == set(range(60)) - set(alone.test[t])
        assert set(watching.usable[t]) == set(alone.usable[t]) - set(watching.validation[t])
        assert set(watching.labelled[t]) <= set(watching.usable[t])


@every_inside
def test_pre_training_and_tests_are_the_same_with_labels_inside(mixed_table: Table, regime: Regime) -> None:
    """Where all labels are shown, the validation rows of the split validate."""
    outside, inside = prepare(mixed_table, range(3)), prepare(mixed_table, range(3), regime=regime)
    assert_same(inside, outside, SPLIT)
    assert_array_equal(outside.watched, outside.validation)
    assert outside.n_labels_inside == 0
    if not regime.hides_labels:
        assert_same(inside, outside, ("validation", "labelled"))


def test_noise_is_in_labels_that_validate_inside(mixed_table: Table) -> None:
    data = prepare(mixed_table, range(30), regime=Noise30(noise=1.0, validation="inside"))
    for rows, labels in ((data.labelled, data.labels), (data.validation, data.validation_labels)):
        assert (labels != mixed_table.labels[rows]).mean() > 0.3


@pytest.mark.parametrize(("share", "n_validation"), [(0.2, 4), (0.5, 10), (0.01, 1)])
def test_a_share_of_few_labels_validates(mixed_table: Table, share: float, n_validation: int) -> None:
    data = prepare(mixed_table, range(5), regime=Few(20, validation="inside", validation_share=share))
    assert (data.labelled.shape[1], data.validation.shape[1]) == (20 - n_validation, n_validation)
    for labels, validating in zip(data.labels, data.validation_labels, strict=True):
        assert set(validating) <= set(labels), "every class that is shown keeps a label to train with"


class Scored(Splitting):
    """The split of an estimator: no row is tested, and validation rows score the networks."""

    def split(self, table: Table, random: np.random.Generator, trial: int = 0) -> Split:
        return self.without_test(Random().split(table, random))


@every_inside
@pytest.mark.parametrize("watches", [lambda n: True, never], ids=["watching", "alone"])
def test_no_network_trains_on_rows_that_score_it(mixed_table: Table, regime: Regime, watches: Any) -> None:
    data = prepare(mixed_table, [0, 1], regime=regime, splitting=Scored(), watches=watches)
    assert_array_equal(data.test, data.watched)
    for t in range(2):
        assert not np.isin([*data.usable[t], *data.labelled[t]], data.test[t]).any()
    assert (data.validation.shape[1] > 0) == watches(10)


@given(strata=st.lists(st.integers(0, 4), min_size=2, max_size=60), share=st.floats(0.01, 0.99))
def test_strata_validate_in_proportion_and_each_keeps_a_row_where_possible(strata: list[int], share: float) -> None:
    stratum = np.array(strata)
    validates = validating_share(stratum, share, np.random.default_rng(0))
    n = min(max(1, round(share * len(strata))), len(strata) - 1)
    assert validates.sum() == n
    counts, chosen = (
        np.bincount(stratum),
        np.bincount(stratum[validates], minlength=stratum.max() + 1),
    )
    present = counts > 0
    spare = (counts - 1)[present].sum()
    if n <= spare:
        assert (chosen[present] < counts[present]).all()
    if n + present.sum() <= spare:
        assert (np.abs(chosen - n * counts / len(strata))[present] < 2).all()


@every_fit
def test_a_number_is_standardised_by_the_labels_that_each_trial_shows(fit_on: str) -> None:
    numbers = NUMBERS["a"] * 3 + 7
    data = prepare(table_of(target=numbers), range(4), regime=Few(20), fit_on=fit_on)
    shown = numbers.to_numpy()[data.labelled]
    expected = np.stack([shown.mean(axis=1), shown.std(axis=1)], axis=1)
    assert_allclose(data.preprocessing.target, expected, rtol=1e-12)


@every_regime
def test_rows_without_a_label_train_and_show_none(mixed_table: Table, regime: Regime) -> None:
    labels = np.where(np.arange(60) % 3 == 0, -1, mixed_table.labels)
    data = prepare(replace(mixed_table, labels=labels), range(4), regime=regime)
    assert (data.train.shape, data.validation.shape, data.test.shape) == ((4, 28 + 20), (4, 4), (4, 8))
    assert data.labelled.shape[1] == (7 if regime.hides_labels else 28)
    for t in range(4):
        assert set(np.flatnonzero(labels == -1)) <= set(data.train[t])
        assert set(data.labelled[t]) <= set(data.train[t])
        assert (labels[np.concatenate([data.labelled[t], data.validation[t], data.test[t]])] >= 0).all()


def classes(n: int) -> Classes:
    """A target of n classes, also of very many."""
    return Classes(range(n))  # type: ignore[arg-type]


def labels_of(n: int, n_classes: int) -> np.ndarray:
    return np.random.default_rng(n).integers(n_classes, size=n)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_noise30_redraws_uniformly_over_classes_and_rows(n_classes: int) -> None:
    """So fewer labels are wrong, for the true class is drawn too."""
    n = 30_000
    _, seen = Noise30().apply(np.ones(n, dtype=np.int64), classes(n_classes), STREAMS, 1)
    changed = np.flatnonzero(seen != 1)
    assert stats.binomtest(len(changed), round(0.3 * n), 1 - 1 / n_classes).pvalue > 1e-4
    others = np.bincount(seen[changed], minlength=n_classes)[np.arange(n_classes) != 1]
    assert n_classes == 2 or stats.chisquare(others).pvalue > 1e-4
    assert stats.kstest(changed / n, "uniform").pvalue > 1e-4


@pytest.mark.parametrize(
    ("n", "share", "count"),
    [(9, 0.3, 3), (3, 0.3, 1), (1000, 1.0, 1000), (9, 0.25, 2), (11, 0.25, 3), (2, 0.25, 1), (1000, 0.0001, 1)],
)
def test_shares_of_rows_are_rounded_and_one_label_is_the_fewest(n: int, share: float, count: int) -> None:
    """With very many classes hardly any label is redrawn to itself, so those that changed are those redrawn."""
    labels, none = labels_of(n, 3), np.zeros(n, dtype=np.int64)
    positions, seen = Semi25(labelled=share).apply(labels, classes(3), STREAMS, 0)
    assert len(positions) == count
    assert_array_equal(seen, labels[positions])
    assert (np.diff(positions) > 0).all(), "rows keep their order"
    noisy = Noise30(noise=share).apply(none, classes(10**9), STREAMS, 0)[1]
    assert (noisy != 0).sum() == round(n * share)
    assert (noisy.dtype, noisy.min() >= 0, noisy.max() < 10**9) == (np.int64, True, True)


@given(n=st.integers(1, 500), wanted=st.integers(1, 500), trial=st.integers(0, 20))
def test_few_shows_so_many_labels(n: int, wanted: int, trial: int) -> None:
    labels = labels_of(n, 3)
    few, semi25 = (regime.apply(labels, classes(3), STREAMS, trial) for regime in (Few(0.25), Semi25()))
    assert [each.tolist() for each in few] == [each.tolist() for each in semi25], "a share of labels is that of semi25"
    if wanted > n:
        with pytest.raises(UsageError, match=rf"regime.labels={wanted} is more than the {n} training rows"):
            Few(wanted).apply(labels, classes(3), STREAMS, trial)
        return
    positions, seen = Few(wanted).apply(labels, classes(3), STREAMS, trial)
    assert len(set(positions)) == wanted
    assert_array_equal(seen, labels[positions])
    fewer = Few(max(1, wanted // 2)).apply(labels, classes(3), STREAMS, trial)[0]
    assert set(fewer) <= set(positions), "fewer labels are some of the same"


def test_pretraining_learns_from_all_training_rows_or_from_random_ones(mixed_table: Table) -> None:
    whole, few, more = (prepare(mixed_table, range(4), pretrain_rows=n) for n in (None, 7, 20))
    assert_array_equal(whole.pretrain, whole.train)
    assert (few.pretrain.shape, more.pretrain.shape) == ((4, 7), (4, 20))
    for t in range(4):
        assert set(few.pretrain[t]) < set(more.pretrain[t]) < set(whole.train[t]), "fewer rows are some of the same"
    assert_same(few, whole, [name for name in ROWS if name != "pretrain"])
    assert_array_equal(prepare(mixed_table, [2], pretrain_rows=7).pretrain[0], few.pretrain[2])
    with pytest.raises(UsageError, match=r"pretrain.rows=43 is more than the 42 training rows; ask for"):
        prepare(mixed_table, [0], pretrain_rows=43)


@pytest.mark.parametrize(
    ("regime", "option", "values", "said"),
    [
        (Semi25, "labelled", (0.0, 1.01, float("nan")), "labelled={}: it takes a number in (0, 1]"),
        (Noise30, "noise", (-0.1, 1.01), "noise={}: it takes a number in [0, 1]"),
        (Few, "labels", (0, -1), "labels={}: it takes a number in (0, inf)"),
        (Few, "labels", (1.5,), "labels must be a whole number of rows, or a share between 0 and 1, not {}"),
    ],
)
def test_what_is_no_share_or_number_of_labels_is_refused(
    regime: Any, option: str, values: tuple[float, ...], said: str
) -> None:
    for value in values:
        with pytest.raises(ValueError, match=re.escape(said.format(value))):
            regime(**{option: value})


N_ROWS = 120


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(0)
    days = pd.Series(pd.date_range("2024-01-01", periods=N_ROWS).strftime("%Y-%m-%d"))
    columns = {
        "size": random.normal(size=N_ROWS).round(3),
        "day": days.where(days.index != 5),
        "ward": "one",
        "side": ["left", "right"] * (N_ROWS // 2),
        "part": ["train"] * (N_ROWS - 20) + ["validation"] * 20,
        "y": random.choice(["no", "yes"], N_ROWS),
    }
    path = tmp_path_factory.mktemp("requests") / "t.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("metric=auc", r"^metric=auc does not measure classes. Did you mean auroc\?"),
        ("metric=rmse", "^metric=rmse does not measure classes"),
        ("finetune.metric=rmse", "^finetune.metric=rmse does not measure classes"),
        ("split=group split.column=ward", "split=group of .* leaves no row with a label for validation"),
        ("split=group split.column=side trials=9", "split=group of .* leaves no row with a label for test"),
        ("split=time split.column=day", "column 'day', which split=time sorts by, is missing in labelled rows"),
        ("split=column split.column=part", "split=column of .* leaves no row with a label for test"),
        ("regime=few regime.labels=1 regime.validation=inside recipe=paper", "^1 label cannot both train and validate"),
        ("regime=few regime.labels=97", "^regime.labels=97 is more than the 96 training rows with a label"),
        ("pretrain=scarf pretrain.rows=97", "^pretrain.rows=97 is more than the 84 training rows"),
        ("method=self_train", "^method=self_train .* needs unlabelled rows"),
        ("metric=auroc", ""),
        ("split=group split.column=day", ""),
        ("regime=few regime.labels=50", ""),
    ],
)
def test_a_request_that_its_table_cannot_meet_is_refused(file: Path, arguments: str, said: str) -> None:
    command = ("dataset=csv", f"dataset.path={file}", "dataset.target=y", "trials=2", *arguments.split())
    if not said:
        assert [table.n_rows for table in check_data(cells_of(*command)).values()] == [N_ROWS]
        return
    with pytest.raises(UsageError, match=said):
        check_data(cells_of(*command))
