"""Columns that were read wrongly, or refused without a way out, each with its right value."""

import datetime as dt
import importlib
import pickle
import warnings
from typing import Any

import cloudpickle
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.base import clone

import scarf_lightning
from scarf_lightning import ScarfTransformer, load_model
from scarf_lightning.errors import UsageError
from tests.estimators.small import OF_NETWORKS, N, small, table

X, y = table()
LEARNED = {"finetune.max_epochs": 60, "finetune.learning_rate": 0.05}
GAPS = np.arange(N) % 2 == 0
SECONDS = np.random.default_rng(0).integers(10**5, 10**6, N)


def learned(rows: Any, labels: Any, **parameters: Any) -> Any:
    """An estimator that has learned a table, also one of two different rows, which stand in all parts of its split."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return small(options=LEARNED | {"split.copies": "apart"}, **parameters).fit(rows, labels)


class TestWhatColumnsTell:
    @pytest.mark.parametrize("value", ["v", 5.0, True, "2024-01-01", pd.Timestamp("2024"), "12:30", pd.Timedelta("3h")])
    def test_one_value_and_gaps_tell_by_their_gaps(self, value: Any) -> None:
        rows = pd.DataFrame({"s": [value if known else None for known in GAPS]})

        fitted = learned(rows, GAPS)

        assert fitted.score(rows, GAPS) == 1.0
        assert fitted.reading_["done"].tolist() == ["2 categories: its one value, or none"]
        with pytest.warns(UserWarning, match="has 'other', which the training table did not"):
            fitted.predict(pd.DataFrame({"s": [value, "other"]}, dtype=object))

    @pytest.fixture(scope="class")
    def in_seconds(self) -> np.ndarray:  # type: ignore[type-arg]
        """Predictions of a model that learned lengths of time as numbers."""
        rows = pd.DataFrame({"t": SECONDS})
        predicted: np.ndarray = learned(rows, SECONDS, is_regressor=True).predict(rows)  # type: ignore[type-arg]
        return predicted

    @pytest.mark.parametrize("written", ["timedelta", "pandas", "clock", "iso", "python", "arrow"])
    def test_lengths_of_time_are_seconds(self, written: str, in_seconds: np.ndarray) -> None:  # type: ignore[type-arg]
        seconds = SECONDS
        lengths = pd.to_timedelta(pd.Series(seconds), unit="s")
        forms = {
            "timedelta": lengths,
            "pandas": lengths.astype("str"),
            "clock": [f"{s // 3600}:{s // 60 % 60:02d}:{s % 60:02d}" for s in seconds],
            "iso": [f"PT{s // 3600}H{s // 60 % 60}M{s % 60}S" for s in seconds],
            "python": pd.Series([dt.timedelta(seconds=int(s)) for s in seconds], dtype=object),
            "arrow": lengths.astype(pd.ArrowDtype(pa.duration("s"))),
        }

        fitted = learned(pd.DataFrame({"t": forms[written]}), seconds, is_regressor=True)

        for form in forms.values():
            np.testing.assert_array_equal(fitted.predict(pd.DataFrame({"t": form})), in_seconds)
        assert fitted.score(pd.DataFrame({"t": lengths}), seconds) > 0.9
        with pytest.raises(UsageError, match="Column 't' holds durations in the table, but '3600' in the rows"):
            fitted.predict(pd.DataFrame({"t": [3600]}))

    @pytest.mark.parametrize("first", range(6))
    def test_truth_may_be_spelled_otherwise_later(self, first: int) -> None:
        truth = np.arange(N) % 2 == 1
        pairs: list[tuple[Any, Any]] = [
            (False, True), (0, 1), ("false", "TRUE"), ("N", "Y"), ("no", "Yes"), (0.0, 1.0)
        ]  # fmt: skip
        forms = [pd.DataFrame({"b": [pair[int(t)] for t in truth]}) for pair in pairs]
        forms += [pd.DataFrame({"b": pd.array(truth, dtype="boolean")}), pd.DataFrame({"b": truth.astype(object)})]

        fitted = learned(forms[first], truth)

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for form in forms:
                assert fitted.score(form, truth) == 1.0

    def test_of_three_words_none_is_a_truth_value(self) -> None:
        answers = pd.DataFrame({"b": np.array(["yes", "no", "maybe"], dtype=object)[np.arange(N) % 3]})
        fitted = learned(answers, y)

        with pytest.warns(UserWarning, match="has 'true', which the training table did not"):
            fitted.predict(answers.assign(b=["true", *answers["b"][1:]]))

    def test_a_column_in_which_nothing_is_known_is_refused_and_one_unseen_value_is_a_gap(self) -> None:
        fitted = learned(X, y)

        with pytest.raises(UsageError, match=r"Column 'c' holds 'u', 'v', 'w' in the table, but '.', '.', '.' in the"):
            fitted.predict(X.assign(c=X["c"].str.upper()))
        with pytest.warns(UserWarning, match="'c' has 'z', which the training table did not: taken as missing"):
            fitted.predict(X.assign(c="z"))
        with pytest.warns(UserWarning, match="'c' has 'z'"):
            fitted.predict(X.assign(c=["z", *X["c"][1:]]))


class TestWhatIsRefused:
    @pytest.fixture(scope="class")
    def with_numbers(self) -> Any:
        """A model of a table whose fourth column holds numbers."""
        return small().fit(X.assign(l=1.0 * np.arange(N) / 3), y)

    @pytest.mark.parametrize(
        ("column", "sentence"),
        [
            (
                [[1]] * N,
                r"Column 'l' holds \[1\], which is neither a number nor a category nor a date; .*leave the col",
            ),
            ([{"a": 1}] * N, "Column 'l' holds {'a': 1}, which is neither"),
            ([1j] * N, "Column 'l' holds complex numbers; .* or leave it out"),
            ([b"a", b"b"] * (N // 2), "Column 'l' holds bytes; decode them to text, or leave it out"),
            (["a\0", "b"] * (N // 2), r"column 'l' holds a NUL character, in 'a\\x00'"),
            (["a\ud800", "b"] * (N // 2), r"column 'l' holds half a character, in 'a\\ud800'"),
            ([np.inf, 1.0] * (N // 2), "column 'l' of X holds an infinite value"),
        ],
        ids=["lists", "objects", "complex", "bytes", "NUL", "surrogate", "infinite"],
    )
    def test_a_column_that_cannot_be_used_can_be_dropped(
        self, column: list[Any], sentence: str, small_fit: Any, with_numbers: Any
    ) -> None:
        rows = X.assign(l=pd.Series(column, dtype=object))
        with pytest.raises(UsageError, match=sentence):
            small().fit(rows, y)

        fitted = small(options={"dataset.drop": ["l"]}).fit(rows, y)

        np.testing.assert_array_equal(fitted.predict_proba(rows), small_fit.predict_proba(X))
        assert fitted.reading_.iloc[-1]["done"] == "left out by dataset.drop"
        with pytest.raises(UsageError, match=sentence.split(";")[0] if "of X" not in sentence else "infinite value"):
            with_numbers.predict(rows)

    def test_a_column_of_an_array_can_be_dropped_too(self) -> None:
        array = np.column_stack([X["a"], np.where(GAPS, np.inf, 1)])
        with pytest.raises(UsageError, match="column 'x1' of X holds an infinite value"):
            small().fit(array, y)

        fitted = small(options={"dataset.drop": ["x1"]}).fit(array, y)

        assert fitted.predict(array).shape == (N,)

    @pytest.mark.parametrize("make", [scipy.sparse.csr_matrix, scipy.sparse.coo_array])
    def test_sparse_and_complex_arrays_are_refused_in_a_sentence(self, make: Any) -> None:
        numbers = X[["a", "b"]].to_numpy()
        fitted = small().fit(numbers, y)
        for use in (lambda rows: small().fit(rows, y), fitted.predict):
            with pytest.raises(TypeError, match=r"Sparse data was passed.* but dense data is required"):
                use(make(numbers))
            with pytest.raises(ValueError, match="Complex data not supported"):
                use(numbers * 1j)
        with pytest.raises(UsageError, match=r"The rows are a sparse matrix; pass rows\.toarray\(\)"):
            fitted.model_.predict(make(numbers))

    def test_a_refused_fit_leaves_the_estimator_as_it_was(self) -> None:
        fresh, fitted = small(), small().fit(X, y)
        before, expected = set(vars(fresh)), fitted.predict_proba(X)
        wrong = [
            (X.assign(a=np.where(GAPS, np.inf, 1)), y),
            (X, np.where(y == 1, "a", None)),
            (X[["a"]], [[1, 2]] * N),
            (X.assign(a=1, b=2, c="x"), y),
            (X, y.head(3)),
        ]
        for rows, labels in wrong:
            for estimator in (fresh, fitted):
                with pytest.raises(ValueError, match=r"."):
                    estimator.fit(rows, labels)
        assert set(vars(fresh)) == before
        np.testing.assert_array_equal(fitted.predict_proba(X), expected)
        assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]
        fitted.fit(X[["a"]].to_numpy(), y)
        assert not hasattr(fitted, "feature_names_in_")
        assert fitted.n_features_in_ == 1

    def test_rows_that_a_saved_model_cannot_read(self, small_fit: Any, tmp_path: Any) -> None:
        small_fit.save(tmp_path / "m")
        model = load_model(tmp_path / "m")

        with pytest.raises(UsageError, match="The rows have 2 columns, and the model was trained on 3"):
            model.predict(X[["a", "b"]].to_numpy())
        with pytest.raises(UsageError, match=r"must be a table, or an array \(n, columns\), not list"):
            model.predict([1, 2])
        with pytest.raises(UsageError, match="The rows lack 'c'"):
            model.predict(X[["a", "b"]])


class TestCopies:
    def test_skops_reads_what_it_wrote_and_asks_for_two_types(self) -> None:
        skops = pytest.importorskip("skops.io", reason="writes estimators without pickle")
        fitted = small(pretrain="auto", options={"dataset.categorical": ["c"]}).fit(X, y)
        expected = fitted.predict_proba(X)  # builds the networks

        written = skops.dumps(fitted)

        asked = skops.get_untrusted_types(data=written)
        assert asked == [
            "scarf_lightning.estimators.estimators.ScarfClassifier",
            "scarf_lightning.estimators.model.Model",
        ]
        copy = skops.loads(written, trusted=asked)
        np.testing.assert_array_equal(copy.predict_proba(X), expected)
        pd.testing.assert_frame_equal(copy.trials_, fitted.trials_)
        pd.testing.assert_frame_equal(copy.reading_, fitted.reading_)
        assert copy.get_params() == fitted.get_params()
        transformer = (
            ScarfTransformer(
                device="cpu", options={name: value for name, value in OF_NETWORKS.items() if ".encoder" in name}
            )
            .set_params(pretrain__max_epochs=1)
            .fit(X)
        )
        copied = skops.loads(
            skops.dumps(transformer), trusted=[*asked, skops.get_untrusted_types(data=skops.dumps(transformer))[0]]
        )
        np.testing.assert_array_equal(copied.transform(X), transformer.transform(X))

    @pytest.mark.slow  # imports MLflow
    @pytest.mark.filterwarnings("ignore")  # of MLflow's about itself
    def test_mlflow_keeps_and_loads_it_by_its_default(self, tmp_path: Any) -> None:
        mlflow = pytest.importorskip("mlflow.sklearn", reason="writes skops unless told otherwise")
        fitted = small().fit(X, y)
        ours = [
            "scarf_lightning.estimators.estimators.ScarfClassifier",
            "scarf_lightning.estimators.model.Model",
        ]

        # Without its list of requirements, it starts a process that loads the model to find them.
        mlflow.save_model(fitted, tmp_path / "m", skops_trusted_types=ours, pip_requirements=["scarf-lightning"])

        assert (tmp_path / "m" / "model.skops").exists()
        loaded = mlflow.load_model(str(tmp_path / "m"))
        np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))

    @pytest.mark.parametrize("library", [pickle, cloudpickle], ids=["pickle", "cloudpickle"])
    def test_pickles_hold_arrays_and_nothing_of_torch(self, library: Any, small_fit: Any) -> None:
        expected = small_fit.predict_proba(X)

        written = library.dumps(small_fit)

        assert b"torch" not in written.replace(b"pytorch", b"")
        assert len(written) < 10_000
        np.testing.assert_array_equal(library.loads(written).predict_proba(X), expected)

    def test_a_copy_knows_its_cell(self) -> None:
        fitted = small(options={"finetune.learning_rate": 0.02}).fit(X, y)

        copy = pickle.loads(pickle.dumps(fitted.model_))

        assert copy.config == fitted.model_.config
        assert copy.config.finetune.learning_rate == 0.02

    def test_a_pickle_of_another_version_is_refused_in_a_sentence(self, small_fit: Any) -> None:
        model = small_fit.model_
        with pytest.raises(UsageError, match="A model of another version was pickled here; save it as a folder"):
            model.__setstate__({"description": model.description, "weights": {}})


def test_a_reload_of_the_package_changes_nothing() -> None:
    importlib.reload(scarf_lightning)

    assert callable(scarf_lightning.report)
    assert clone(small()).fit(X, y).predict(X).shape == (N,)
