"""Probing against scikit-learn on the embeddings, and freezing the encoder."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from scarf_lightning.data.table import Table
from scarf_lightning.methods import SupervisedPhase
from scarf_lightning.methods.fine_tuning import Control, Dropout
from scarf_lightning.methods.probe import Probe
from scarf_lightning.options.settings import FinetuneSettings, PretrainSettings
from tests.stacks import MakeStack, task

SETTINGS = FinetuneSettings(max_epochs=3, batch_size=46)


@pytest.mark.parametrize("classifier", ["logistic", "knn"])
@pytest.mark.parametrize("is_pretrained", [True, False])
def test_it_is_scikit_learns_classifier_on_the_embeddings(
    patients: Table, make_stack: MakeStack, classifier: str, is_pretrained: bool
) -> None:
    stack = make_stack(patients, [0, 1])
    weights = stack.pretrain(PretrainSettings(max_epochs=3), task()).part("encoder") if is_pretrained else None
    outcome = Probe(classifier, C=0.5, k=4).run(stack, SupervisedPhase(SETTINGS, weights))
    encoder = stack.networks.encoder([0, 1], weights)
    for t in range(2):
        with torch.no_grad():
            train, test = (encoder(stack.raw(rows))[t].double() for rows in (stack.data.train, stack.data.test))
        scaler = StandardScaler().fit(train)
        own = LogisticRegression(C=0.5, max_iter=10_000) if classifier == "logistic" else KNeighborsClassifier(4)
        own.fit(scaler.transform(train), patients.labels[stack.data.train[t]])
        np.testing.assert_allclose(outcome.predictions[t], own.predict_proba(scaler.transform(test)), atol=1e-5)


def test_more_neighbours_than_rows_are_all_of_them(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0])
    few = replace(stack, data=replace(stack.data, labelled=stack.data.labelled[:, :3], labels=np.array([[0, 1, 1]])))
    outcome = Probe("knn", k=50).run(few, SupervisedPhase(SETTINGS))
    np.testing.assert_allclose(outcome.predictions[0, :, 1], 2 / 3)


def test_a_single_class_is_certain(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0])
    alike = replace(stack, data=replace(stack.data, labels=np.full_like(stack.data.labels, 2)))
    outcome = Probe().run(alike, SupervisedPhase(SETTINGS))
    assert (outcome.predictions == [0, 0, 1]).all()


@pytest.mark.parametrize("method", [Control(), Dropout(0.3)])
def test_a_frozen_encoder_stays_and_h_learns(patients: Table, make_stack: MakeStack, method: Control | Dropout) -> None:
    stack = make_stack(patients, [0, 1])
    weights = stack.pretrain(PretrainSettings(max_epochs=2), task()).part("encoder")
    frozen = replace(SETTINGS, freeze="encoder", restore_best=False)
    outcome = method.run(stack, SupervisedPhase(frozen, weights))
    assert outcome.fit is not None
    for name, weight in weights.items():
        assert torch.equal(outcome.fit.weights[f"classifier.encoder.{name}"], weight)
    fresh = stack.networks.head([0, 1])
    for name, parameter in fresh.named_parameters():
        assert not torch.equal(outcome.fit.weights[f"classifier.head.{name}"], parameter)


def test_h_on_a_frozen_encoder_is_h_on_fixed_features(patients: Table, make_stack: MakeStack) -> None:
    """The same head trained by hand on embeddings that are computed once."""
    stack = make_stack(patients, [3], precision="64-true")
    settings = FinetuneSettings(max_epochs=1, batch_size=200, freeze="encoder", restore_best=False)
    fit, _ = stack.finetune(settings, stack.labelled())
    with torch.no_grad():
        embedded = stack.networks.encoder([3]).double()(stack.raw(stack.data.labelled))
    head = stack.networks.head([3]).double()
    optimizer = torch.optim.Adam(head.parameters(), lr=1e-3, eps=1e-7)
    torch.nn.functional.cross_entropy(head(embedded)[0], torch.from_numpy(stack.data.labels[0])).backward()
    optimizer.step()
    for name, parameter in head.named_parameters():
        torch.testing.assert_close(fit.weights[f"classifier.head.{name}"], parameter.detach(), rtol=0, atol=1e-9)
