"""Probes in Lightning's own loop, against scikit-learn alone."""

import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from scarf_lightning.engine.probing import effective_rank
from scarf_lightning.errors import UsageError
from scarf_lightning.lightning import FinetuneModule, PretrainModule, Probe
from tests.lightning.test_encoders import Encoder, data_with_gaps
from tests.lightning.test_plain_lightning import SMALL, Curves, trainer

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning:pytorch_lightning"),
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
]


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
