"""Encoders of one's own, pre-trained weights, and probes: against the engine and against scikit-learn alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from pytorch_lightning.callbacks import ModelCheckpoint
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn

from scarf_lightning.engine.probing import effective_rank
from scarf_lightning.errors import UsageError
from scarf_lightning.lightning import CotrainModule, FinetuneModule, PretrainModule, Probe, TableDataModule
from scarf_lightning.lightning.modules import PlainModule
from tests.lightning.test_plain_lightning import SMALL, Curves, trainer

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning:pytorch_lightning"),
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
]
D = 7
"""Two numbers, one of them with gaps, and a category of three values with gaps."""


def data_with_gaps(trials: int = 1, options: Sequence[str] = ()) -> TableDataModule:
    random = np.random.default_rng(0)
    x = random.normal(size=(120, 2))
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": random.choice(list("xyz"), 120)})
    frame["y"] = np.where(x[:, 0] + random.normal(size=120) > 0, "yes", "no")
    frame.loc[::7, "b"] = np.nan
    frame.loc[::11, "c"] = None
    return TableDataModule(frame, "y", list(options), trials=trials)


@pytest.mark.parametrize("trials", [1, 2])
@pytest.mark.parametrize("options", [[], ["encoding=ordinal"], ["encoding.gaps=true", "scaling=quantile"]])
def test_rows_of_a_frame_are_those_of_the_batches(trials: int, options: list[str]) -> None:
    """Columns in another order, beside others, and without the target."""
    data = data_with_gaps(trials, options)
    assert data._frame is not None
    with pytest.raises(UsageError, match="no batches before a module is set up"):
        data.rows(data._frame)
    module = PretrainModule(SMALL, data=data)
    later = data._frame[["c", "b", "a"]].assign(other=1)
    rows = data.rows(later)
    for trial in data.trials:
        own = rows[trial] if trials > 1 else rows
        expected = data.served.of([trial]).raw(data.served.data.test[[trial]])[0]
        assert torch.equal(own[data.served.data.test[trial]].nan_to_num(), expected.nan_to_num())
    assert module(rows).shape == (*rows.shape[:-1], 8)
    with pytest.raises(UsageError, match="The rows lack 'b'"):
        data.rows(later.drop(columns="b"))


class Encoder(nn.Module):
    """What `torch.vmap` does not run as it is: batch normalisation, dropout, a branch, a parameter without an axis."""

    def __init__(self, width: int = D) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 4))
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.scale * self.layers(x)
        return out if out.mean() > 0 else out * 1.0


@pytest.mark.parametrize("kind", [PretrainModule, FinetuneModule, CotrainModule])
def test_a_module_of_ones_own_is_trained_itself_in_its_own_modes(kind: type[PlainModule]) -> None:
    data, own = data_with_gaps(), Encoder()
    own.layers[3].eval()
    before = {name: tensor.clone() for name, tensor in own.state_dict().items()}
    module = kind(encoder=own)
    trainer().fit(module, data)

    assert data.n_encoded == D
    assert all(not torch.equal(tensor, before[name]) for name, tensor in own.state_dict().items())
    assert (own.training, own.layers[3].training) == (True, False)
    prefix = "encoder.body.network." if kind is PretrainModule else "classifier.encoder.body.network."
    for name, tensor in own.state_dict().items():
        assert torch.equal(module.state_dict()[prefix + name], tensor)


def test_the_encoder_of_the_options_trains_alike_as_a_module_of_ones_own() -> None:
    """Its weights in a checkpoint are those of torch's layers, so that they go into a plain network."""
    ours, losses = PretrainModule(SMALL, data=data_with_gaps()), list[list[float]]()
    weights = {
        name.removeprefix("encoder.body.layers."): tensor.clone()
        for name, tensor in ours.state_dict().items()
        if name.startswith("encoder.")
    }
    own = nn.Sequential(nn.Linear(D, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU())
    own.load_state_dict({name.replace("1.", "2."): tensor for name, tensor in weights.items()})
    rows = torch.randn(5, D)
    assert torch.allclose(ours.encoder.body(rows[None])[0], own(rows), atol=1e-6)

    theirs = PretrainModule(SMALL[2:], encoder=own)
    for module in (ours, theirs):
        curves = Curves()
        trainer(curves, max_epochs=3).fit(module, data_with_gaps())
        losses.append([epoch[name] for epoch in curves.epochs for name in ("train_loss", "validation_loss")])
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_fine_tuning_goes_on_with_ones_own_module_or_with_a_copy_of_it() -> None:
    own = nn.Linear(D, 4)
    pretraining = PretrainModule(encoder=own, data=data_with_gaps())
    copied = FinetuneModule(encoder=pretraining.encoder, data=data_with_gaps())
    itself = FinetuneModule(encoder=own, data=data_with_gaps())
    assert torch.equal(copied.encoder.body.network.weight, own.weight)
    assert copied.encoder.body.network is not own
    assert itself.encoder.body.network is own


@pytest.mark.parametrize("trials", [1, 2])
def test_the_encoder_of_a_checkpoint_is_one_to_start_from(tmp_path: Path, trials: int) -> None:
    data, pretraining = data_with_gaps(trials), PretrainModule(SMALL)
    trainer(ModelCheckpoint(tmp_path, filename="last"), max_epochs=1).fit(pretraining, data)
    loaded = PretrainModule.load_from_checkpoint(tmp_path / "last.ckpt", data=data)
    for kind, options in ((FinetuneModule, SMALL[:2]), (PretrainModule, SMALL)):
        module = kind(options, encoder=loaded.encoder, data=data)
        for name, tensor in pretraining.encoder.state_dict().items():
            assert torch.equal(module.encoder.state_dict()[name], tensor)


class Mean(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.mean(dim=0, keepdim=True)


class Pair(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x, x


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Encoder(30), r"Encoder cannot encode this table, whose rows are \(N, 7\) in float32.*3x7 and 30x8"),
        (lambda: nn.Flatten(0), r"Flatten gives \(21,\) for rows of \(3, 7\); an encoder gives one embedding a row"),
        (Mean, r"Mean gives \(1, 7\) for rows of \(3, 7\)"),
        (Pair, "Pair gives tuple for rows"),
        (lambda: Encoder, r"encoder must be a module, as in encoder=MyEncoder\(\), and not 'Encoder'"),
        (lambda: "best.ckpt", r"not 'best.ckpt'; that of a checkpoint is PretrainModule\.load_from_checkpoint\(FILE"),
    ],
)
@pytest.mark.parametrize("kind", [PretrainModule, FinetuneModule])
def test_what_gives_no_embedding_a_row_is_refused(kind: type[PlainModule], make: Any, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        kind(encoder=make(), data=data_with_gaps())


@pytest.mark.parametrize("trials", [1, 2])
def test_probes_are_those_of_scikit_learn_on_the_embeddings(trials: int) -> None:
    data, module, curves = data_with_gaps(trials), PretrainModule(SMALL), Curves()
    trainer(Probe(neighbours=3), curves).fit(module, data)
    stack = data.served
    for trial in data.trials:
        rows, labels = stack.data.labelled[[trial]], stack.data.labels[trial]
        held, truth = stack.data.validation[[trial]], stack.data.validation_labels[trial]
        alone = stack.of([trial])
        weights = {name: tensor[[trial]] for name, tensor in module.encoder.state_dict().items()}
        train, validation = (alone.embed(each, weights)[0] for each in (rows, held))
        scaler = StandardScaler().fit(train)
        linear = LogisticRegression(max_iter=1000).fit(scaler.transform(train), labels)
        nearest = KNeighborsClassifier(3).fit(train, labels)
        ending = f"/trial_{trial}" if trials > 1 else ""
        for name, predicted in (
            ("linear", linear.predict(scaler.transform(validation))),
            ("knn", nearest.predict(validation)),
        ):
            assert curves.epochs[-1][f"probe_{name}{ending}"] == pytest.approx(accuracy_score(truth, predicted))
        assert curves.epochs[-1][f"probe_effective_rank{ending}"] == pytest.approx(effective_rank(validation), rel=1e-4)


def test_losses_and_weights_are_the_same_with_and_without_probes() -> None:
    logged, weights = [], []
    for probes in ([], [Probe()]):
        torch.manual_seed(0)
        # Its dropout draws from torch's own stream, and its normalisation counts the batches that it has seen.
        module, curves = PretrainModule(encoder=Encoder()), Curves()
        trainer(*probes, curves, max_epochs=3).fit(module, data_with_gaps())
        logged.append([epoch["validation_loss"] for epoch in curves.epochs])
        weights.append(module.state_dict())
    assert logged[0] == logged[1]
    assert all(torch.equal(tensor, weights[1][name]) for name, tensor in weights[0].items())


def test_what_cannot_be_probed_is_refused() -> None:
    with pytest.raises(UsageError, match="Probe measures a PretrainModule, and not FinetuneModule"):
        trainer(Probe()).fit(FinetuneModule(SMALL[:2]), data_with_gaps())
    with pytest.raises(UsageError, match="Probe takes numbers from 1"):
        Probe(every=0)
