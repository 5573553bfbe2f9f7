"""What a fit is weighted by and watched for: class weights, a metric, steps before it may stop."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from scarf_lightning.data.table import Table
from scarf_lightning.engine.stack import Stack
from scarf_lightning.errors import UsageError
from scarf_lightning.metrics import METRICS, metric_named
from scarf_lightning.settings import FinetuneSettings
from tests.stacks import MakeStack

SETTINGS = FinetuneSettings(max_epochs=6, batch_size=46, patience=None)


def unbalanced(stack: Stack) -> Stack:
    """Half of the labels of the first class are the second one's."""
    labels = stack.data.labels.copy()
    labels[:, : labels.shape[1] // 2] = np.maximum(labels[:, : labels.shape[1] // 2], 1)
    return replace(stack, data=replace(stack.data, labels=labels))


def test_balanced_classes_train_on_the_cross_entropy_that_torch_weights(patients: Table, make_stack: MakeStack) -> None:
    stack = unbalanced(make_stack(patients, [0, 2], precision="64-true"))
    settings = FinetuneSettings(max_epochs=1, batch_size=1000, learning_rate=1e-30, class_weight="balanced")

    fit, classifier = stack.finetune(settings, stack.labelled())

    logits = stack.logits(classifier, stack.data.labelled)
    for t in range(2):
        labels = torch.from_numpy(stack.data.labels[t])
        counts = torch.bincount(labels, minlength=3)
        expected = torch.nn.CrossEntropyLoss(weight=len(labels) / (3 * counts.double()))(logits[t], labels)
        loss = next(record["train_loss"] for record in fit.curves if record["trial"] == (0, 2)[t])
        assert loss == pytest.approx(expected.item(), abs=1e-9)


def test_soft_targets_of_one_class_weigh_as_hard_ones(patients: Table, make_stack: MakeStack) -> None:
    stack = unbalanced(make_stack(patients, [0], precision="64-true"))
    settings = replace(SETTINGS, class_weight="balanced")
    soft = stack.examples(stack.data.labelled, np.eye(3)[stack.data.labels])

    (hard_fit, _), (soft_fit, _) = stack.finetune(settings, stack.labelled()), stack.finetune(settings, soft)

    for name, weight in hard_fit.weights.items():
        torch.testing.assert_close(weight, soft_fit.weights[name], atol=1e-9, rtol=0)


def test_class_weights_leave_validation_alone(patients: Table, make_stack: MakeStack) -> None:
    stack = unbalanced(make_stack(patients, [0]))
    still = FinetuneSettings(max_epochs=1, learning_rate=1e-30)

    (plain, _), (weighted, _) = (
        stack.finetune(replace(still, class_weight=chosen), stack.labelled()) for chosen in ("none", "balanced")
    )

    assert plain.curves[0]["validation_loss"] == weighted.curves[0]["validation_loss"]
    assert plain.curves[0]["train_loss"] != weighted.curves[0]["train_loss"]


@pytest.mark.parametrize("metric", [metric.name for metric in METRICS])
def test_a_metric_is_measured_on_all_validation_rows_and_its_best_epoch_is_kept(
    patients: Table, make_stack: MakeStack, metric: str
) -> None:
    stack = make_stack(patients, [0, 3])
    fit, classifier = stack.finetune(replace(SETTINGS, metric=metric), stack.labelled())

    probabilities = stack.predict(classifier, stack.data.validation)
    for t, trial in enumerate((0, 3)):
        values = [record[f"validation_{metric}"] for record in fit.curves if record["trial"] == trial]
        assert len(values) == 6
        best = int(np.argmax(metric_named(metric).sign * np.array(values)))
        assert fit.best_epochs[t] == best + 1
        direct = metric_named(metric).function(probabilities[t], patients.labels[stack.data.validation[t]])
        assert direct == pytest.approx(values[best], abs=1e-6)


def test_accuracy_stops_where_the_error_does(patients: Table, make_stack: MakeStack) -> None:
    stack, settings = make_stack(patients, [0, 1]), FinetuneSettings(batch_size=46)
    (by_error, _), (by_accuracy, _) = (
        stack.finetune(replace(settings, metric=metric), stack.labelled()) for metric in (None, "accuracy")
    )

    assert by_error.epochs.tolist() == by_accuracy.epochs.tolist()
    for name, weight in by_error.weights.items():
        assert torch.equal(weight, by_accuracy.weights[name])


def test_a_metric_that_the_validation_rows_do_not_define_is_refused(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [4])
    of_one_class = stack.data.judged_labels[0] == 1
    rows, labels = (each[:, of_one_class] for each in (stack.data.judged, stack.data.judged_labels))
    alone = replace(stack, data=replace(stack.data, judged=rows, judged_labels=labels))

    with pytest.raises(UsageError, match=r"finetune.metric=auroc is not defined on the validation rows of trial 4"):
        alone.finetune(replace(SETTINGS, metric="auroc"), alone.labelled())


def test_a_metric_that_chooses_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="metric has nothing to choose"):
        FinetuneSettings(metric="auroc", patience=None, restore_best=False)


@pytest.mark.parametrize(("min_steps", "epochs"), [(0, 5), (15, 5), (16, 6), (30, 10), (31, 11)])
def test_no_trial_stops_before_its_steps_are_made(
    patients: Table, make_stack: MakeStack, min_steps: int, epochs: int
) -> None:
    """139 rows in batches of 46 are three steps an epoch. A network that stands still never improves on its first."""
    stack = make_stack(patients, [0, 1])
    still = FinetuneSettings(batch_size=46, learning_rate=1e-30, max_epochs=200, min_steps=min_steps)

    fit, _ = stack.finetune(still, stack.labelled())

    assert fit.best_epochs.tolist() == [1, 1]
    assert fit.epochs.tolist() == [epochs] * 2
    assert fit.steps.tolist() == [3 * epochs] * 2


def test_steps_that_are_asked_for_go_before_the_largest_number_of_epochs(
    patients: Table, make_stack: MakeStack
) -> None:
    stack = make_stack(patients, [0])
    fit, _ = stack.finetune(replace(SETTINGS, max_epochs=2, min_steps=30), stack.labelled())

    assert fit.epochs.tolist() == [10]
