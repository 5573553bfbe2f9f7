"""Numbers as targets: how they are read, standardised, made noisy and split, and what is refused."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from scarf_lightning.data.sources.source import DiabetesSource
from scarf_lightning.data.targets import Classes, Number, ReadTarget, leading_metric, read_target, target_from_plain
from scarf_lightning.data.trials import Noise30
from scarf_lightning.errors import UsageError
from scarf_lightning.randomness import Streams

NUMBER = Number("y")


def read(values: Any, kind: str | None = "number") -> ReadTarget:
    return read_target(pd.Series(values, name="y"), "t.csv", kind, is_raw=True)


def test_text_with_thousands_and_gaps() -> None:
    found = read(["1,200.5", " 3 ", None, None, *map(str, range(20))])
    assert found.target == NUMBER
    assert_array_equal(found.labels[:4], [1200.5, 3, np.nan, np.nan])
    assert found.target.is_labelled(found.labels).sum() == 22


@pytest.mark.parametrize(
    ("values", "kind", "said"),
    [
        ([*range(20), np.inf], "number", "from 0 to inf, which cannot be learnt; rescale it"),
        ([1e308, -1e308] * 10, "number", r"from -1e\+308 to 1e\+308"),
        ([*map(str, range(20)), "red"], "number", "holds 'red'; .* dataset.target_kind=classes"),
        ([7.0] * 20, "number", "from 7 to 7, which cannot be learnt"),
        ([1e-200, 2e-200] * 10, "number", "from 1e-200 to 2e-200"),
        ([1.5, *[None] * 30], "number", "1 rows with a label in 'y'; .* at least 10"),
        ([" a ", "a"] * 10, None, "the one class 'a'; two are needed"),
    ],
)
def test_what_cannot_be_learnt_is_refused(values: Any, kind: str | None, said: str) -> None:
    with pytest.raises(UsageError, match=rf"t\.csv.*{said}"):
        read(values, kind)


def cycle(n_distinct: int, n_rows: int, start: float) -> list[float]:
    return np.resize(np.arange(n_distinct) + start, n_rows).tolist()


@pytest.mark.parametrize(
    ("values", "n_classes"),
    [
        pytest.param([1.0, 2.0, 3.0] * 4, 3, id="whole numbers as floats"),
        pytest.param([True, False] * 6, 2, id="Booleans"),
        pytest.param(list(range(12)), 12, id="a whole number a row"),
        pytest.param(cycle(6, 12, 0.5), 6, id="half as many fractions as rows"),
        pytest.param(cycle(7, 12, 0.5), None, id="more than half as many fractions as rows"),
        pytest.param(cycle(20, 600, 0.5), 20, id="20 fractions"),
        pytest.param(cycle(21, 600, 0.5), None, id="21 fractions"),
        pytest.param(cycle(50, 3000, 0), 50, id="50 whole numbers"),
        pytest.param(cycle(51, 3060, 0), None, id="51 whole numbers"),
        pytest.param(cycle(21, 420, 0), 21, id="21 whole numbers 20 times"),
        pytest.param(cycle(21, 399, 0), None, id="21 whole numbers 19 times"),
    ],
)
def test_many_numbers_are_a_number_and_few_are_classes(values: list[float], n_classes: int | None) -> None:
    for column, kind in ((values, None), (list(map(str, values)), None)):
        found = read(column, kind).target
        assert (found == NUMBER) == (n_classes is None)
        assert n_classes is None or found.n_outputs == n_classes
    assert read(values, "classes").target.n_outputs == len(set(values))


def test_a_number_is_noted_to_be_one_unless_it_is_asked_for() -> None:
    (note,) = read(np.arange(60) / 7, None).notes
    assert "'y' has 60 different numbers" in note
    assert "dataset.target_kind=classes" in note
    assert read(np.arange(60) % 3) == ReadTarget(NUMBER, pytest.approx(np.arange(60) % 3))


@pytest.mark.parametrize(
    ("values", "metric"),
    [
        (["yes"] * 7 + ["no"] * 93, "balanced_accuracy"),
        (["yes"] * 10 + ["no"] * 90, "accuracy"),
        ([chr(97 + n % 26) for n in range(260)], "accuracy"),  # 26 equal classes
    ],
)
def test_an_imbalanced_target_leads_with_balanced_accuracy(values: list[str], metric: str) -> None:
    assert read(values, None).target.metric == metric


RARE, EVEN = Classes(("a", "b"), 0.01), Classes(("a", "b"), 0.5)


@pytest.mark.parametrize(
    ("targets", "metric"),
    [
        ([], "accuracy"),
        ([RARE, EVEN], "accuracy"),
        ([RARE, RARE], "balanced_accuracy"),
        ([NUMBER, Number("x"), RARE], "rmse"),
        ([NUMBER, EVEN], "accuracy"),
    ],
)
def test_tables_lead_with_the_metric_that_most_of_them_agree_on(targets: list[Any], metric: str) -> None:
    assert leading_metric(targets) == metric


@pytest.mark.parametrize("target", [NUMBER, Classes(("a", "b"), 0.02)], ids=lambda each: each.name)
def test_a_record_gives_the_target_back(target: Any) -> None:
    again = target_from_plain(target.plain())
    assert again == target
    assert again.metric == target.metric


@pytest.mark.parametrize("said", [{"kind": "tree"}, {"kind": "number"}, 7])
def test_a_record_of_no_target_is_refused(said: Any) -> None:
    with pytest.raises(ValueError, match="target"):
        target_from_plain({"target": said, "classes": []})


def test_predictions_come_back_from_a_file_and_are_finite() -> None:
    packed = NUMBER.packed(np.array([1.0, 2.0]), np.array([1.5, 1e300]))
    assert [each.tolist() for each in NUMBER.unpacked(packed)] == [[1.0, 2.0], [1.5, 1e300]]
    wrong: list[dict[str, Any]] = [{"label": [np.nan, 1.0]}, {"0": [1.0, np.inf]}]
    for changed in wrong:
        with pytest.raises(ValueError, match="not finite"):
            NUMBER.unpacked(packed.assign(**changed))


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40))
def test_labels_are_standardised_and_put_back(values: list[float]) -> None:
    labels = np.array([values])
    fitted = NUMBER.fit(labels[0])[None]
    encoded = NUMBER.encode(labels, fitted)
    assert encoded.shape == (1, len(values), 1)
    if labels.std() > 1e-3:
        assert_allclose([encoded.mean(), encoded.std()], [0, 1], atol=1e-6)
    back = NUMBER.predictions(torch.from_numpy(encoded), torch.from_numpy(fitted)).numpy()
    assert_allclose(back, labels, rtol=1e-9, atol=1e-6)


def test_noise_takes_the_labels_of_other_rows() -> None:
    labels, streams = np.arange(1000.0), Streams(0, 200)
    first, again, other = (Noise30().apply(labels, NUMBER, streams, trial)[1] for trial in (0, 0, 1))
    assert (first != labels).sum() == 300, "each changed row has another row's label"
    assert set(first) <= set(labels)
    assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize(("n_labels", "n_strata"), [(3, 1), (19, 1), (20, 2), (99, 9), (100, 10), (1000, 10)])
def test_a_stratum_has_ten_labels_at_least_and_there_are_ten_strata_at_most(n_labels: int, n_strata: int) -> None:
    strata = NUMBER.strata(np.append(np.arange(n_labels), [np.nan] * 30))
    assert (strata[n_labels:] == -1).all()
    sizes = np.bincount(strata[:n_labels])
    assert len(sizes) == n_strata
    assert sizes.max() - sizes.min() <= 1


def test_the_hash_of_a_table_is_of_its_weights_and_labels_and_not_of_its_targets_name() -> None:
    table = DiabetesSource().load()
    assert (table.n_rows, len(table.columns), table.target) == (442, 10, Number("progression"))
    weighted = [replace(table, weights=weights) for weights in (np.ones(442), np.arange(442.0))]
    assert len({each.hash for each in (table, replace(table, labels=table.labels + 1), *weighted)}) == 4
    assert replace(table, target=NUMBER).hash == table.hash


def test_validation_is_by_the_mean_squared_and_the_mean_absolute_error() -> None:
    outputs, targets = torch.tensor([[[1.0], [4.0]], [[0.0], [0.0]]]), torch.tensor([[[3.0], [3.0]], [[0.0], [-2.0]]])
    measured = NUMBER.validation(outputs, targets)
    torch.testing.assert_close(measured["loss"], torch.tensor([2.5, 2.0]))
    torch.testing.assert_close(measured["error"], torch.tensor([1.5, 1.0], dtype=torch.float64))
