"""A look into a trained cell: its rows and views, and what is measured of embeddings."""

from dataclasses import replace

import numpy as np
import pytest

from scarf_lightning.data.splits import Random, Split
from scarf_lightning.data.table import Table
from scarf_lightning.errors import UsageError
from scarf_lightning.estimators import (
    Model,
    TrialRows,
    corrupted_view,
    load_model,
    load_rows,
)
from tests.estimators.conftest import OfACell, TrainOn


@pytest.fixture(scope="module")
def encoder(scarf: OfACell) -> Model:
    return load_model(scarf.folder, trial=0, phase="pretrain")


@pytest.fixture(scope="module")
def looked_at(scarf: OfACell) -> TrialRows:
    return load_rows(scarf.folder, 0)


class TestRows:
    def test_they_are_the_tables_own_in_the_trials_split(
        self, scarf: OfACell, encoder: Model, looked_at: TrialRows
    ) -> None:
        read = looked_at.features
        assert read["colour"].dropna().to_dict() == scarf.rows["colour"].dropna().to_dict()
        np.testing.assert_array_equal(read["height"], scarf.rows["height"])
        assert set(looked_at.target) == {"yes", "no"}
        assert "since" not in read, "dates were made into numbers"
        np.testing.assert_array_equal(encoder.transform(read), encoder.transform(scarf.rows))
        other = load_rows(scarf.folder, 1).part
        for part in (looked_at.part, other):
            assert part.value_counts().to_dict() == {"train": 84, "validation": 12, "test": 24}
        assert (looked_at.part != other).any()

    def test_a_split_may_depend_on_the_number_of_the_trial(
        self, scarf: OfACell, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As the splits of an OpenML task do."""
        rows = np.arange(120)

        def turned(_: Random, table: Table, trial: int, random: np.random.Generator) -> Split:
            return Split(*np.split(np.roll(rows, trial), [80, 100]))

        monkeypatch.setattr(Random, "of_trial", turned)
        for trial in (0, 1):
            part = load_rows(scarf.folder, trial).part
            assert part.tolist() == np.roll(["train"] * 80 + ["validation"] * 20 + ["test"] * 20, -trial).tolist()

    def test_data_that_have_changed_are_refused(self, train_on: TrainOn) -> None:
        trained = train_on("pretrain=none", "trials=1", "seed=9")  # its file is changed, so no other test has this cell
        file = trained.folder.parents[1] / "mine.csv"
        file.write_text(file.read_text().replace("red", "pink"))
        with pytest.raises(UsageError, match=r"mine\.csv has changed since cell"):
            load_rows(trained.folder, 0)

    def test_a_cell_of_earlier_random_streams_is_refused(self, scarf: OfACell, monkeypatch: pytest.MonkeyPatch) -> None:
        """They split the rows otherwise, and drew other weights."""
        monkeypatch.setattr("scarf_lightning.estimators.cell_models.SCIENCE_VERSION", 10**6)
        sentence = "trained by an earlier version.*; train it again by its command with force=true"
        with pytest.raises(UsageError, match=sentence):
            load_rows(scarf.folder, 0)
        with pytest.raises(UsageError, match=sentence):
            load_model(scarf.folder, phase="initial")


class TestViews:
    def test_what_is_not_selected_stays_and_the_rest_comes_from_the_training_rows(
        self, encoder: Model, looked_at: TrialRows
    ) -> None:
        rows = looked_at.features.dropna()
        training = rows.head(40)
        view = corrupted_view(encoder, rows, training)
        assert (view.selected.sum(axis=1) == int(0.6 * rows.shape[1])).all()
        for column in rows:
            selected = view.selected[column]
            if rows[column].dtype == object:
                assert view.values[column][~selected].equals(rows[column][~selected])
                assert set(view.values[column][selected]) <= set(training[column])
            else:
                np.testing.assert_allclose(view.values[column][~selected], rows[column][~selected], rtol=1e-5)
                nearest = np.abs(np.subtract.outer(view.values[column].to_numpy(), training[column].to_numpy())).min(1)
                assert (nearest[selected] <= 1e-5 * rows[column].abs().max()).all()
        np.testing.assert_allclose(view.embeddings, encoder.transform(view.values), atol=1e-5)
        assert (view.embeddings != encoder.transform(rows)).any()

    def test_a_seed_gives_the_same_view_and_another_another(self, scarf: OfACell, encoder: Model) -> None:
        first, again, other = (corrupted_view(encoder, scarf.rows, scarf.rows, seed) for seed in (1, 1, 2))
        np.testing.assert_array_equal(first.embeddings, again.embeddings)
        assert (first.selected != other.selected).any(axis=None)

    @pytest.mark.parametrize(
        "name", [*(pytest.param(n, marks=pytest.mark.slow) for n in ("mean", "gaussian")), "missing"]
    )
    @pytest.mark.slow
    def test_corruptions_of_encoded_columns_show_those(self, name: str, train_on: TrainOn) -> None:
        trained = train_on(f"corruption={name}", "trials=1")
        view = corrupted_view(load_model(trained.folder, trial=0, phase="pretrain"), trained.rows, trained.rows)
        assert {"height", "colour=blue", "colour=green", "colour=red"} <= set(view.values)
        assert view.values.shape == view.selected.shape
        assert np.isfinite(view.embeddings).all()
        if name == "missing":
            with pytest.raises(UsageError, match="corruption=missing learns its values in pre-training"):
                corrupted_view(load_model(trained.folder, trial=0), trained.rows, trained.rows)

    def test_a_model_without_a_view_says_why(self, scarf: OfACell, train_on: TrainOn) -> None:
        control = train_on("trials=1", "pretrain=none")
        for model, sentence in (
            (load_model(control.folder), "corrupts nothing"),
            (replace(control.model, options=None), "does not know its corruption; load it from its cell"),
            (scarf.model, "this model has 2; choose with only"),
        ):
            with pytest.raises(UsageError, match=sentence):
                corrupted_view(model, scarf.rows, scarf.rows)
