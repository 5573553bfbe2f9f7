import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scarf_lightning.data.regimes import Few, Full, Noise30, Regime, Semi25
from scarf_lightning.data.targets import Classes
from scarf_lightning.errors import UsageError
from scarf_lightning.randomness import Purpose, Streams

STREAMS = Streams(0, "d")


def classes(n: int) -> Classes:
    """A target of n classes, also of very many."""
    return Classes(range(n))  # type: ignore[arg-type]


def labels_of(n: int, n_classes: int) -> np.ndarray:
    return np.random.default_rng(n).integers(n_classes, size=n)


def test_full_shows_every_label() -> None:
    labels = labels_of(50, 3)
    positions, seen = Full().apply(labels, classes(3), STREAMS, 0)
    assert (positions == np.arange(50)).all()
    assert (seen == labels).all()


@given(n=st.integers(1, 500), trial=st.integers(0, 50))
def test_semi25_shows_a_quarter_of_the_labels_as_they_are(n: int, trial: int) -> None:
    labels = labels_of(n, 4)
    positions, seen = Semi25().apply(labels, classes(4), STREAMS, trial)
    assert len(positions) == len(seen) == max(1, round(0.25 * n))
    assert len(set(positions)) == len(positions)
    assert positions.min() >= 0
    assert positions.max() < n
    assert (seen == labels[positions]).all()


def test_semi25_chooses_every_row_equally_often() -> None:
    labels = labels_of(40, 2)
    counts = np.zeros(40)
    for trial in range(2000):
        counts[Semi25().apply(labels, classes(2), STREAMS, trial)[0]] += 1
    assert (np.abs(counts - 500) < 5 * math.sqrt(2000 * 0.25 * 0.75)).all()


@given(n=st.integers(1, 500), n_classes=st.integers(2, 9), trial=st.integers(0, 50))
def test_noise30_changes_at_most_three_labels_in_ten(n: int, n_classes: int, trial: int) -> None:
    labels = labels_of(n, n_classes)
    before = labels.copy()
    positions, seen = Noise30().apply(labels, classes(n_classes), STREAMS, trial)
    assert (positions == np.arange(n)).all()
    assert (seen != labels).sum() <= round(0.3 * n)
    assert seen.min() >= 0
    assert seen.max() < n_classes
    assert seen.dtype == np.int64
    assert (labels == before).all()


def test_noise30_redraws_exactly_three_labels_in_ten() -> None:
    """With very many classes hardly any label is redrawn to itself, so those that changed are those redrawn."""
    n, n_classes = 1000, 10**9
    for trial in range(20):
        _, seen = Noise30().apply(np.zeros(n, dtype=np.int64), classes(n_classes), STREAMS, trial)
        assert (seen != 0).sum() == 300


@pytest.mark.parametrize(("n", "labelled", "redrawn"), [(9, 2, 3), (11, 3, 3), (3, 1, 1), (2, 1, 1)])
def test_shares_of_rows_are_rounded(n: int, labelled: int, redrawn: int) -> None:
    labels = np.zeros(n, dtype=np.int64)
    assert len(Semi25().apply(labels, classes(10**9), STREAMS, 0)[0]) == labelled
    assert (Noise30().apply(labels, classes(10**9), STREAMS, 0)[1] != 0).sum() == redrawn


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_noise30_makes_fewer_labels_wrong_for_the_true_class_is_drawn_too(n_classes: int) -> None:
    n = 100_000
    labels = labels_of(n, n_classes)
    _, seen = Noise30().apply(labels, classes(n_classes), STREAMS, 0)
    wrong = int((seen != labels).sum())
    assert stats.binomtest(wrong, round(0.3 * n), 1 - 1 / n_classes).pvalue > 1e-4


def test_noise30_redraws_uniformly_over_classes_and_rows() -> None:
    n, n_classes = 100_000, 5
    _, seen = Noise30().apply(np.full(n, 2), classes(n_classes), STREAMS, 1)
    changed = np.flatnonzero(seen != 2)
    assert stats.chisquare(np.bincount(seen[changed], minlength=n_classes)[[0, 1, 3, 4]]).pvalue > 1e-4
    assert stats.kstest(changed / n, "uniform").pvalue > 1e-4


def test_noise_of_other_shares() -> None:
    labels = np.zeros(1000, dtype=np.int64)
    assert (Noise30(noise=0.0).apply(labels, classes(10**9), STREAMS, 0)[1] == labels).all()
    assert (Noise30(noise=0.1).apply(labels, classes(10**9), STREAMS, 0)[1] != labels).sum() == 100
    assert (Noise30(noise=1.0).apply(labels, classes(10**9), STREAMS, 0)[1] != labels).all()


def test_labelled_parts_of_other_shares() -> None:
    labels = labels_of(1000, 3)
    for share, count in ((0.001, 1), (0.0001, 1), (0.5, 500), (1.0, 1000)):
        positions, seen = Semi25(labelled=share).apply(labels, classes(3), STREAMS, 0)
        assert len(positions) == count
        assert (seen == labels[positions]).all()


@pytest.mark.parametrize("regime", [Semi25(), Noise30()], ids=lambda r: r.name)
def test_a_trial_chooses_rows_of_its_own_and_always_the_same(regime: Regime) -> None:
    labels = labels_of(100, 2)
    chosen = [np.concatenate(regime.apply(labels, classes(2), STREAMS, trial)).tobytes() for trial in range(10)]
    again = [
        np.concatenate(regime.apply(labels, classes(2), STREAMS, trial)).tobytes() for trial in reversed(range(10))
    ]
    assert len(set(chosen)) == 10
    assert again[::-1] == chosen
    other_seed = np.concatenate(regime.apply(labels, classes(2), Streams(1, "d"), 0)).tobytes()
    assert other_seed != chosen[0]


@pytest.mark.parametrize("regime", [Full(), Semi25(), Few(), Noise30()], ids=lambda r: r.name)
def test_a_regime_says_whether_it_hides_labels(regime: Regime) -> None:
    positions, _ = regime.apply(labels_of(100, 2), classes(2), STREAMS, 0)
    assert regime.hides_labels == (len(positions) < 100)


def test_each_regime_has_a_random_stream_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    original = Streams.numpy

    def record(self: Streams, trial: int, purpose: Purpose, fit: int = 0) -> np.random.Generator:
        used.append(purpose)
        return original(self, trial, purpose, fit)

    monkeypatch.setattr(Streams, "numpy", record)
    for regime in (Full(), Semi25(), Noise30()):
        regime.apply(labels_of(20, 2), classes(2), STREAMS, 0)
    assert used == [Purpose.LABELLED_SUBSET, Purpose.LABEL_NOISE]


@pytest.mark.parametrize("share", [0.0, -0.1, 1.01, 25, float("nan")])
def test_a_labelled_share_out_of_range_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match=rf"labelled must lie in \(0, 1\], not {share}"):
        Semi25(labelled=share)


@pytest.mark.parametrize("share", [-0.1, 1.01, 30, float("nan")])
def test_a_share_of_noise_out_of_range_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match=rf"noise must lie in \[0, 1\], not {share}"):
        Noise30(noise=share)


@given(n=st.integers(1, 500), wanted=st.integers(1, 500), trial=st.integers(0, 20))
def test_few_shows_so_many_labels(n: int, wanted: int, trial: int) -> None:
    labels = labels_of(n, 3)
    if wanted > n:
        with pytest.raises(UsageError, match=rf"regime.labels={wanted} is more than the {n} training rows"):
            Few(wanted).apply(labels, classes(3), STREAMS, trial)
        return
    positions, seen = Few(wanted).apply(labels, classes(3), STREAMS, trial)
    assert len(set(positions)) == wanted
    assert (seen == labels[positions]).all()
    fewer = Few(max(1, wanted // 2)).apply(labels, classes(3), STREAMS, trial)[0]
    assert set(fewer) <= set(positions), "fewer labels are some of the same"


def test_a_share_of_labels_is_that_of_semi25() -> None:
    labels = labels_of(203, 3)
    for trial in range(5):
        few, semi25 = (regime.apply(labels, classes(3), STREAMS, trial) for regime in (Few(0.25), Semi25()))
        assert (few[0] == semi25[0]).all()
        assert (few[1] == semi25[1]).all()


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (0, "labels must be greater than 0, not 0"),
        (-1, "labels must be greater than 0, not -1"),
        (1.5, "labels must be a whole number of rows, or a share between 0 and 1, not 1.5"),
        (100.5, "labels must be a whole number of rows, or a share between 0 and 1, not 100.5"),
    ],
)
def test_what_is_no_number_of_labels_is_refused(labels: float, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        Few(labels)
