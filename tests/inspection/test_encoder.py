import pickle
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from rich.console import Console
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from scarf_lightning.config import build_parts
from scarf_lightning.data.sources import LastTable
from scarf_lightning.data.trials import prepare_trials
from scarf_lightning.engine.hardware import Hardware
from scarf_lightning.engine.stack import Stack
from scarf_lightning.errors import UsageError
from scarf_lightning.inspection import TableEncoder, load_encoder
from scarf_lightning.inspection.trained import Phase
from scarf_lightning.randomness import Streams
from scarf_lightning.running.cells import train_cell
from tests.composing import cells_of
from tests.inspection.conftest import Trained, TrainOn
from tests.processes import TINY

WIDTH = 16


@pytest.fixture
def encoder(scarf: Trained) -> TableEncoder:
    return load_encoder(scarf.fingerprint, 1, results=scarf.results)


def in_the_stack(trained: Trained) -> dict[Phase, np.ndarray[Any, Any]]:
    """What f of each of the cell's two trials gives for all rows, trained again as a stack outside the store."""
    (cell,) = cells_of(*TINY, *trained.overrides)
    loaded, config, parts = LastTable().load(cell.source), cell.config, build_parts(cell.config)
    streams, table = Streams(config.seed, loaded.hash), parts.encoding.encode(loaded)
    data = prepare_trials(table, (0, 1), streams, regime=parts.regime, scaling=parts.scaling, fit_on=config.fit_on)
    hardware = Hardware(torch.device("cpu"), config.trainer.precision)
    stack = Stack.make(table, data, streams, parts.network, config.network, hardware)
    assert parts.pretext is not None
    weights = stack.pretrain(config.pretrain, parts.pretext).part("encoder")
    encoders: dict[Phase, torch.nn.Module] = {
        "initial": stack.networks.encoder((0, 1)),
        "pretrained": stack.networks.encoder((0, 1), weights),
        "finetuned": stack.finetune(config.finetune, stack.labelled(), weights)[1].encoder,
    }
    every = np.tile(np.arange(table.n_rows), (2, 1))
    with torch.no_grad():
        return {phase: f.to(hardware.dtype)(stack.raw(every)).numpy() for phase, f in encoders.items()}


@pytest.mark.parametrize(
    ("fit_on", "encoding", "precision"),
    [
        ("all", "onehot", "32-true"),
        ("train", "onehot_drop_last", "64-true"),
        ("all", "ordinal", "32-true"),
        pytest.param("all", "onehot", "64-true", marks=pytest.mark.slow),
        pytest.param("train", "onehot", "32-true", marks=pytest.mark.slow),
        pytest.param("train", "onehot", "64-true", marks=pytest.mark.slow),
        pytest.param("all", "ordinal", "64-true", marks=pytest.mark.slow),
        pytest.param("train", "onehot_drop_last", "32-true", marks=pytest.mark.slow),
    ],
)
def test_it_gives_bit_for_bit_what_the_network_in_the_stack_gives(
    fit_on: str, encoding: str, precision: str, train_on: TrainOn
) -> None:
    asked = (f"fit_on={fit_on}", f"encoding={encoding}", f"trainer.precision={precision}")
    trained = train_on(*asked, "keep_weights=true")

    for phase, expected in in_the_stack(trained).items():
        for trial in (0, 1):
            embedded = load_encoder(trained.fingerprint, trial, phase, trained.results).transform(trained.features)
            assert (embedded.dtype, embedded.shape) == (np.float32, (120, WIDTH))
            np.testing.assert_array_equal(embedded, expected[trial].astype(np.float32), err_msg=phase)
        assert (expected[0] != expected[1]).any()


def test_the_phases_differ(scarf: Trained, encoder: TableEncoder) -> None:
    finetuned = load_encoder(scarf.fingerprint, 1, "finetuned", scarf.results)

    assert (encoder.transform(scarf.features) != finetuned.transform(scarf.features)).any()


class TestRowsUnlikeTheTable:
    def test_an_unseen_category_counts_as_missing_and_is_named(self, scarf: Trained, encoder: TableEncoder) -> None:
        rows = scarf.features.head(2)

        with pytest.warns(UserWarning, match=r"'colour' has 'mauve', which the training table did not: taken as miss"):
            unseen = encoder.transform(rows.assign(colour="mauve"))

        np.testing.assert_array_equal(unseen, encoder.transform(rows.assign(colour=None)))
        assert (unseen != encoder.transform(rows.assign(colour="blue"))).any()

    @pytest.mark.parametrize(
        ("column", "imputed"), [("colour", lambda known: known.mode()[0]), ("income", lambda known: known.mean())]
    )
    @pytest.mark.parametrize("missing", [None, np.nan])
    def test_a_missing_value_is_imputed_as_fitted(
        self, column: str, imputed: Any, missing: Any, scarf: Trained, encoder: TableEncoder
    ) -> None:
        rows, fill = scarf.features.head(3), imputed(scarf.features[column].dropna())

        embedded = encoder.transform(rows.assign(**{column: missing}))

        np.testing.assert_allclose(embedded, encoder.transform(rows.assign(**{column: fill})), atol=1e-6)

    def test_a_missing_column_is_refused_by_name(self, scarf: Trained, encoder: TableEncoder) -> None:
        with pytest.raises(UsageError, match=r"^The rows lack 'colour', 'income', which the model was trained on\.$"):
            encoder.transform(scarf.features.drop(columns=["income", "colour"]))

    def test_a_column_that_is_there_twice_is_refused_by_name(self, scarf: Trained, encoder: TableEncoder) -> None:
        twice = pd.concat([scarf.features, scarf.features[["height"]]], axis=1)

        with pytest.raises(UsageError, match="'height' more than once"):
            encoder.transform(twice)

    def test_further_columns_are_ignored_and_order_does_not_matter(self, scarf: Trained, encoder: TableEncoder) -> None:
        rows = scarf.features
        shuffled = rows[rows.columns[::-1]].assign(another="x")

        np.testing.assert_array_equal(encoder.transform(shuffled), encoder.transform(rows))

    @pytest.mark.parametrize(
        ("value", "shown"), [("tall", "'tall'"), ("1.8", "'1.8'"), (True, "True"), (pd.Timestamp("2020"), "Timestamp")]
    )
    def test_a_wrong_type_in_a_numeric_column_is_refused_with_the_value(
        self, value: Any, shown: str, scarf: Trained, encoder: TableEncoder
    ) -> None:
        rows = scarf.features.head(3).astype({"height": object})
        rows.loc[1, "height"] = value

        with pytest.raises(UsageError, match=f"Column 'height' is numeric, but the rows hold {shown}"):
            encoder.transform(rows)

    def test_an_infinite_value_is_refused(self, scarf: Trained, encoder: TableEncoder) -> None:
        with pytest.raises(UsageError, match="'income' holds an infinite value"):
            encoder.transform(scarf.features.assign(income=np.inf))

    def test_what_can_be_no_category_is_refused_with_the_value(self, scarf: Trained, encoder: TableEncoder) -> None:
        rows = scarf.features.head(2).assign(colour=[["red"], ["blue"]])

        with pytest.raises(UsageError, match=re.escape("Column 'colour' is categorical, but the rows hold ['red']")):
            encoder.transform(rows)

    @pytest.mark.parametrize("kind", ["int64", "float64", "str", "category", "Int64"])
    def test_a_category_is_known_by_how_it_is_spelled(self, kind: str, scarf: Trained, encoder: TableEncoder) -> None:
        rows = scarf.features

        same = encoder.transform(rows.assign(grade=rows["grade"].astype(kind)))

        np.testing.assert_array_equal(same, encoder.transform(rows))

    @pytest.mark.parametrize("kind", ["Float64", object])
    def test_numbers_may_come_in_any_number_type(self, kind: Any, scarf: Trained, encoder: TableEncoder) -> None:
        rows = scarf.features

        same = encoder.transform(rows.assign(income=rows["income"].astype(kind)))

        np.testing.assert_array_equal(same, encoder.transform(rows))

    def test_an_array_is_refused(self, scarf: Trained, encoder: TableEncoder) -> None:
        with pytest.raises(UsageError, match="must be a pandas DataFrame whose columns have names, not ndarray"):
            encoder.transform(scarf.features.to_numpy())

    def test_no_rows_give_no_embeddings(self, scarf: Trained, encoder: TableEncoder) -> None:
        assert encoder.transform(scarf.features.head(0)).shape == (0, WIDTH)


class TestScikitLearn:
    def test_it_stands_in_a_pipeline_that_is_cloned_and_cross_validated(
        self, scarf: Trained, encoder: TableEncoder
    ) -> None:
        labels = scarf.features["height"] > 170

        scores = cross_val_score(make_pipeline(encoder, LogisticRegression()), scarf.features, labels, cv=3)

        assert np.isfinite(scores).all()

    def test_a_clone_reads_the_network_by_itself(self, scarf: Trained, encoder: TableEncoder) -> None:
        np.testing.assert_array_equal(clone(encoder).transform(scarf.features), encoder.transform(scarf.features))

    def test_the_embeddings_have_names(self, scarf: Trained, encoder: TableEncoder) -> None:
        frame = clone(encoder).set_output(transform="pandas").transform(scarf.features)

        assert list(frame.columns) == [f"embedding_{n}" for n in range(WIDTH)]
        assert frame.index.equals(scarf.features.index)

    def test_it_can_be_pickled_and_then_needs_no_store(self, scarf: Trained, tmp_path: Path) -> None:
        shutil.copytree(scarf.results, tmp_path / "copy")
        encoder = load_encoder(scarf.fingerprint, 0, results=tmp_path / "copy")
        expected, kept = encoder.transform(scarf.features), pickle.dumps(encoder)
        shutil.rmtree(tmp_path / "copy")

        np.testing.assert_array_equal(pickle.loads(kept).transform(scarf.features), expected)


class TestWhatIsNotThere:
    def test_fine_tuned_weights_that_were_not_kept_are_trained_again_by_the_command_that_is_named(
        self, train_on: TrainOn
    ) -> None:
        trained = train_on()
        with pytest.raises(
            UsageError, match=r"were not kept; `python train.py .* trains them again and keeps"
        ) as raised:
            load_encoder(trained.fingerprint, 0, "finetuned", trained.results)

        _, _, *command = shlex.split(str(raised.value).split("`")[1])
        assert {"trials=2", "keep_weights=true", "force=true"} <= set(command)
        (cell,) = cells_of(*command)
        trained.store.clear("force=true")
        assert train_cell(cell, LastTable(), Console(quiet=True))
        assert load_encoder(trained.fingerprint, 0, "finetuned", trained.results).transform(trained.features).any()

    def test_pretrained_weights_that_were_evicted(self, train_on: TrainOn) -> None:
        trained = train_on()
        shutil.rmtree(trained.results / "pretrained")

        with pytest.raises(
            UsageError, match=r"trial 1 of cell \w+ are not in the cache \(any more\); `python train.py"
        ):
            load_encoder(trained.fingerprint, 1, results=trained.results)

    @pytest.mark.parametrize(
        ("overrides", "phase", "sentence"),
        [
            (["pretrain=none"], "pretrained", "is not pre-trained; it has phase=finetuned alone"),
            (["method=xgboost", "pretrain=none"], "finetuned", "has no such encoder: method=xgboost trains no network"),
            (["method=xgboost", "pretrain=none"], "initial", "has no such encoder: method=xgboost trains no network"),
            (
                ["method=tri_train", "method.iterations=1", "regime=semi25", "pretrain=none"],
                "finetuned",
                "no single encoder: .* method=tri_train vote",
            ),
        ],
    )
    def test_a_cell_without_such_a_network_says_so(
        self, overrides: list[str], phase: Phase, sentence: str, train_on: TrainOn
    ) -> None:
        usual = [] if "method=xgboost" in overrides else ["keep_weights=true"]
        trained = train_on(*overrides, *usual)

        with pytest.raises(UsageError, match=sentence):
            load_encoder(trained.fingerprint, 0, phase, trained.results)

    @pytest.mark.parametrize(
        ("changed", "sentence"),
        [
            ({"trial": 7}, r"has no finished trial 7; it has: 0, 1\."),
            ({"fingerprint": "0" * 16}, "holds no cell 0000000000000000; "),
            ({"phase": "tuned"}, r"phase=tuned is unknown; the phases are: initial, pretrained, finetuned\."),
        ],
    )
    def test_a_wrong_name_is_refused(self, changed: dict[str, Any], sentence: str, scarf: Trained) -> None:
        usual: dict[str, Any] = {"fingerprint": scarf.fingerprint, "trial": 0, "results": scarf.results}

        with pytest.raises(UsageError, match=sentence):
            load_encoder(**usual | changed)
