from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from scarf_lightning.data.datamodule import Examples, batch_bounds
from scarf_lightning.data.regimes import Noise30, Regime, Semi25
from scarf_lightning.data.table import Table
from scarf_lightning.settings import FinetuneSettings, FitSettings, PretrainSettings
from tests.stacks import MakeStack, task

SETTINGS = FitSettings(max_epochs=3, batch_size=46)


def test_one_hot_soft_targets_are_hard_targets(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0, 1], precision="64-true")
    hard = stack.labelled()
    assert hard.targets is not None
    soft = Examples(hard.rows, F.one_hot(hard.targets, 3).double(), torch.ones_like(hard.targets).double())
    (fit, _), (soft_fit, _) = stack.finetune(SETTINGS, hard), stack.finetune(SETTINGS, soft)
    for name, weight in fit.weights.items():
        torch.testing.assert_close(weight, soft_fit.weights[name], atol=1e-9, rtol=0)


def test_an_epoch_of_all_training_rows_goes_through_the_labelled_ones_again(
    patients: Table, make_stack: MakeStack
) -> None:
    stack = make_stack(patients, range(2), regime=Semi25())
    n_train, n_labelled = stack.data.train.shape[1], stack.data.labelled.shape[1]
    again = torch.from_numpy(np.resize(np.arange(n_labelled), n_train))
    settings = FinetuneSettings(max_epochs=3, batch_size=46)

    fit, _ = stack.finetune(replace(settings, epoch="training_rows"), stack.labelled())

    expected, _ = stack.finetune(settings, stack.labelled().map(lambda each: each[:, again]))
    assert fit.steps.tolist() == [3 * len(batch_bounds(n_train, 46))] * 2
    assert fit.curves == expected.curves
    for name, weight in expected.weights.items():
        assert torch.equal(fit.weights[name], weight)
    few, _ = stack.finetune(settings, stack.labelled())
    assert few.steps.tolist() == [3 * len(batch_bounds(n_labelled, 46))] * 2


@pytest.mark.parametrize(
    ("regime", "n_judged", "wrong"),
    [(Noise30(1.0, "others", "noisy"), 1.0, True), (Semi25(0.9, 0.5), 0.5, False)],
)
def test_training_is_stopped_by_the_rows_and_labels_that_the_regime_judges_by(
    patients: Table, make_stack: MakeStack, regime: Regime, n_judged: float, wrong: bool
) -> None:
    stack = make_stack(patients, range(3), regime=regime)
    judged, labels = stack.data.judged, stack.data.judged_labels
    fit, classifier = stack.finetune(replace(SETTINGS, max_epochs=1), stack.labelled())
    error = (stack.predict(classifier, judged).argmax(axis=-1) != labels).mean(axis=1)
    np.testing.assert_allclose([record["validation_error"] for record in fit.curves], error, atol=1e-12)
    assert judged.shape[1] == round(n_judged * stack.data.validation.shape[1])
    assert all(set(rows) <= set(validation) for rows, validation in zip(judged, stack.data.validation, strict=True))
    assert ((labels != patients.labels[judged]) == wrong).all()


def test_all_weights_of_f_and_h_are_trained(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0])
    pretrained = stack.pretrain(PretrainSettings(max_epochs=2), task()).part("encoder")
    fit, _ = stack.finetune(replace(SETTINGS, restore_best=False), stack.labelled(), pretrained)
    for name, weight in pretrained.items():
        assert not torch.equal(fit.weights[f"classifier.encoder.{name}"], weight), name


def test_it_starts_from_the_pretrained_encoder_and_leaves_it_alone(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0, 1])
    pretrained = stack.pretrain(PretrainSettings(max_epochs=2), task()).part("encoder")
    before = {name: weight.clone() for name, weight in pretrained.items()}
    still = replace(SETTINGS, max_epochs=1, learning_rate=1e-30)
    fit, _ = stack.finetune(still, stack.labelled(), pretrained)
    for name, weight in before.items():
        assert torch.equal(pretrained[name], weight)
        torch.testing.assert_close(fit.weights[f"classifier.encoder.{name}"], weight)


def test_heads_of_control_and_pretrained_start_alike(patients: Table, make_stack: MakeStack) -> None:
    """Methods are paired in all that they share."""
    stack = make_stack(patients, [4])
    still = replace(SETTINGS, max_epochs=1, learning_rate=1e-30)
    pretrained = stack.pretrain(PretrainSettings(max_epochs=2), task()).part("encoder")
    (control, _), (scarf, _) = (stack.finetune(still, stack.labelled(), weights) for weights in (None, pretrained))
    for name, weight in control.weights.items():
        if "head" in name:
            torch.testing.assert_close(weight, scarf.weights[name])
    other, _ = stack.finetune(still, stack.labelled(), number=1)
    assert not torch.equal(
        other.weights["classifier.head.layers.0.weight"], control.weights["classifier.head.layers.0.weight"]
    )


def test_validation_error_is_that_of_the_true_labels(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0, 1], regime=Semi25())
    fit, classifier = stack.finetune(replace(SETTINGS, restore_best=False), stack.labelled())
    predicted = stack.predict(classifier, stack.data.validation).argmax(axis=2)
    error = (predicted != patients.labels[stack.data.validation]).mean(axis=1)
    last = [record["validation_error"] for record in fit.curves if record["epoch"] == 3]
    np.testing.assert_allclose(last, error)


def test_the_kept_weights_are_those_of_the_best_epoch(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0, 1, 2])
    fit, classifier = stack.finetune(FitSettings(max_epochs=30, batch_size=46), stack.labelled())
    predicted = stack.predict(classifier, stack.data.validation).argmax(axis=2)
    error = (predicted != patients.labels[stack.data.validation]).mean(axis=1)
    lowest = [min(r["validation_error"] for r in fit.curves if r["trial"] == trial) for trial in range(3)]
    np.testing.assert_allclose(error, lowest)


def test_probabilities(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0, 1])
    _, classifier = stack.finetune(SETTINGS, stack.labelled())
    probabilities = stack.predict(classifier, stack.data.test)
    assert probabilities.shape == (2, 40, 3)
    assert probabilities.dtype == np.float64
    np.testing.assert_allclose(probabilities.sum(axis=2), 1, atol=1e-12)
