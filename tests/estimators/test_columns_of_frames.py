"""Columns that were read wrongly, or refused without a way out, each with its right value."""

import importlib
import pickle
import warnings
from typing import Any

import cloudpickle
import numpy as np
import pandas as pd
import pytest

from scarf_lightning import ScarfTransformer
from scarf_lightning.errors import UsageError
from tests.estimators.small import OF_ENCODERS, N, read, small, table

X, y = table()
LEARNED = {"finetune.max_epochs": 30, "finetune.learning_rate": 0.1}
GAPS = np.arange(N) % 2 == 0


def learned(rows: Any, labels: Any, **parameters: Any) -> Any:
    """An estimator that has learned a table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return small(options=LEARNED, **parameters).fit(rows, labels)


class TestWhatColumnsTell:
    @pytest.mark.parametrize("value", ["v", 5.0, "2024-01-01"])
    def test_one_value_and_gaps_tell_by_their_gaps(self, value: Any) -> None:
        rows = pd.DataFrame({"s": [value if known else None for known in GAPS]})
        found = read(rows, GAPS)
        assert [reading.done for reading in found.reading] == ["2 categories: its one value, or none"]
        assert (found.values[:, 0] == found.values[0, 0]).tolist() == GAPS.tolist()
        with pytest.warns(UserWarning, match="has 'other', which the training table did not"):
            found.rows_reader.values(pd.DataFrame({"s": [value, "other"]}, dtype=object))
        if value == "v":
            assert learned(rows, GAPS).score(rows, GAPS) == 1.0

    def test_an_unseen_value_is_a_gap(self, small_fit: Any) -> None:
        with pytest.warns(UserWarning, match="'c' has 'z', which the training table did not: taken as missing"):
            small_fit.predict(X.assign(c="z"))
        with pytest.warns(UserWarning, match="'c' has 'z'"):
            small_fit.predict(X.assign(c=["z", *X["c"][1:]]))


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("column", "sentence"),
        [
            ([[1]] * N, r"Column 'l' holds \[1\], which is neither a number nor a category nor a date; .*leave the"),
            ([{"a": 1}] * N, "Column 'l' holds {'a': 1}, which is neither"),
            ([1j] * N, "Column 'l' holds values of the type complex; convert"),
            (["a\0", "b"] * (N // 2), r"Column 'l' holds 'a\\x00', which no file can hold"),
            ([np.inf, 1.0] * (N // 2), "column 'l' of X holds an infinite value"),
        ],
        ids=["lists", "objects", "complex", "NUL", "infinite"],
    )
    def test_a_column_that_cannot_be_used_can_be_dropped(self, column: list[Any], sentence: str) -> None:
        rows = X.assign(l=pd.Series(column, dtype=object))
        with pytest.raises(UsageError, match=sentence):
            small().fit(rows, y)
        dropped = read(rows, y, options={"dataset.drop": ["l"]})
        assert dropped.hash == read(X, y).hash


class TestCopies:
    @pytest.mark.slow  # imports skops
    def test_skops_reads_what_it_wrote_and_asks_for_types_of_ours(self, small_fit: Any) -> None:
        skops = pytest.importorskip("skops.io", reason="writes estimators without pickle")
        small_fit.predict_proba(X)  # builds the networks
        chooses = small(pretrain="auto", options={"dataset.categorical": ["c"]}).fit(X, y)
        for fitted in (small_fit, chooses, ScarfTransformer(device="cpu", options=OF_ENCODERS).fit(X)):
            written = skops.dumps(fitted)
            types = skops.get_untrusted_types(data=written)
            assert {name.partition(".")[0] for name in types} == {"scarf_lightning"}
            copy = skops.loads(written, trusted=types)
            np.testing.assert_array_equal(copy.transform(X), fitted.transform(X))
            pd.testing.assert_frame_equal(copy.trials_, fitted.trials_)
            pd.testing.assert_frame_equal(copy.reading_, fitted.reading_)
            assert copy.get_params() == fitted.get_params()

    @pytest.mark.parametrize("library", [pickle, cloudpickle], ids=["pickle", "cloudpickle"])
    def test_pickles_hold_arrays_and_nothing_of_torch(self, library: Any, small_fit: Any) -> None:
        expected = small_fit.predict_proba(X)
        written = library.dumps(small_fit)
        assert b"torch" not in written.replace(b"pytorch", b"")
        assert len(written) < 10_000
        copy = library.loads(written)
        np.testing.assert_array_equal(copy.predict_proba(X), expected)

    @pytest.mark.parametrize(
        ("module", "name"),
        [
            ("data.targets.classes", "Classes"),
            ("data.targets.number", "Number"),
            ("estimators.scarf_transformer", "ScarfTransformer"),
            ("networks.network", "Columns"),
        ],
    )
    def test_pickles_of_earlier_versions_find_their_classes(self, module: str, name: str) -> None:
        assert isinstance(getattr(importlib.import_module(f"scarf_lightning.{module}"), name), type)
