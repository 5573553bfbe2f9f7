from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.inspection import corrupted_view, load_encoder, load_rows
from tests.inspection.conftest import Trained, TrainOn
from tests.storing import stored

N_TEST, N_VALIDATION = 24, 12  # of 120 rows


class TestRows:
    def test_they_are_the_tables_own(self, scarf: Trained) -> None:
        rows = load_rows(scarf.fingerprint, 0, scarf.results)

        read = rows.features.astype({"grade": int, "colour": "str"})
        pd.testing.assert_frame_equal(read, scarf.features, check_dtype=False)
        assert set(rows.target) == {"yes", "no"}

    def test_parts_are_the_trials_split(self, scarf: Trained) -> None:
        parts = [load_rows(scarf.fingerprint, trial, scarf.results).part for trial in (0, 1)]

        for part in parts:
            assert part.value_counts().to_dict() == {
                "train": 120 - N_TEST - N_VALIDATION,
                "validation": N_VALIDATION,
                "test": N_TEST,
            }
        assert (parts[0] != parts[1]).any()

    def test_missing_values_come_back_missing(self, scarf: Trained) -> None:
        rows = load_rows(scarf.fingerprint, 0, scarf.results).features

        assert rows.isna().sum().to_dict() == scarf.features.isna().sum().to_dict()

    def test_data_that_have_changed_are_refused(self, train_on: TrainOn) -> None:
        trained = train_on()
        file = trained.results.parent / "mine.csv"
        file.write_text(file.read_text().replace("red", "pink"))

        with pytest.raises(UsageError, match=r"mine\.csv has changed since cell"):
            load_rows(trained.fingerprint, 0, trained.results)


class TestViews:
    def test_what_is_not_selected_stays_and_what_is_comes_from_the_training_rows(self, scarf: Trained) -> None:
        encoder = load_encoder(scarf.fingerprint, 0, results=scarf.results)
        rows = scarf.features.dropna().astype({"grade": str})
        training = rows.head(40)

        view = corrupted_view(encoder, rows, training)

        assert (view.selected.sum(axis=1) == 3).all()  # 0.6 of 5
        for column in rows:
            selected = view.selected[column]
            if column in ("colour", "grade"):
                assert view.values[column][~selected].equals(rows[column][~selected])
            else:
                np.testing.assert_allclose(view.values[column][~selected], rows[column][~selected], rtol=1e-5)
                nearest = np.abs(np.subtract.outer(view.values[column].to_numpy(), training[column].to_numpy())).min(1)
                assert (nearest[selected] <= 1e-5 * rows[column].abs().max()).all()
        assert set(view.values["colour"][view.selected["colour"]]) <= set(training["colour"])

    def test_embeddings_are_those_of_the_view(self, scarf: Trained) -> None:
        encoder = load_encoder(scarf.fingerprint, 0, results=scarf.results)
        rows = scarf.features.dropna()

        view = corrupted_view(encoder, rows, rows)

        np.testing.assert_allclose(view.embeddings, encoder.transform(view.values), atol=1e-5)
        assert (view.embeddings != encoder.transform(rows)).any()

    def test_a_seed_gives_the_same_view_and_another_another(self, scarf: Trained) -> None:
        encoder = load_encoder(scarf.fingerprint, 0, results=scarf.results)
        first, again, other = (corrupted_view(encoder, scarf.features, scarf.features, seed) for seed in (1, 1, 2))

        np.testing.assert_array_equal(first.embeddings, again.embeddings)
        assert (first.selected != other.selected).any(axis=None)

    @pytest.mark.parametrize("name", ["mean", "missing", "gaussian"])
    def test_corruptions_of_encoded_columns_show_those(self, name: str, train_on: TrainOn) -> None:
        trained = train_on(f"corruption={name}")
        encoder = load_encoder(trained.fingerprint, 0, results=trained.results)

        view = corrupted_view(encoder, trained.features, trained.features)

        assert list(view.values)[:4] == ["height", "colour=blue", "colour=green", "colour=red"]
        assert view.values.shape == view.selected.shape == (120, 9)
        assert np.isfinite(view.embeddings).all()

    def test_learned_values_are_those_of_the_pretraining_alone(self, train_on: TrainOn) -> None:
        trained = train_on("corruption=missing", "keep_weights=true")
        finetuned = load_encoder(trained.fingerprint, 0, "finetuned", trained.results)

        with pytest.raises(UsageError, match="corruption=missing learns its values in pre-training"):
            corrupted_view(finetuned, trained.features, trained.features)

    def test_a_cell_that_corrupts_nothing_says_so(self, tmp_path: Path) -> None:
        store = stored(tmp_path, "pretrain=none", "trials=1", "keep_weights=true")
        encoder = load_encoder(store.fingerprint, 0, "finetuned", tmp_path)
        rows = load_rows(store.fingerprint, 0, tmp_path).features

        with pytest.raises(UsageError, match="corrupts nothing"):
            corrupted_view(encoder, rows, rows)
