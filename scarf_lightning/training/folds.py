"""Folds of the labels stop a fit, in place of validation rows, and weigh its network against a constant.

K networks of each trial train without a fold of the labels, and one more on all of them, from the same weights and on
the same batches, in which a label that is left out weighs nothing. To the engine they are K + 1 trials::

    trial                0 0 0 0 1 1 1 1
    fold that is left    0 1 2 - 0 1 2 -

A trial's networks stop together, by the loss of its labels, each predicted by the network that is blind to it. The last
network is the trial's: the folds have chosen its number of steps. The others may predict with it.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..engine.fit import Fit, fit
from ..engine.stack import Stack
from ..engine.stack_modules import Finetuning
from ..losses.loss import SHARES, mixed_cross_entropy, mixed_squared_error, mixtures
from ..methods import MethodResult, SupervisedPhase
from ..randomness import Purpose
from ..results.records import OF_FOLD

SOONEST = 100
"""Optimiser steps after which a path may end, if ``finetune.min_steps`` is larger: measured in study/recipe.md."""
PATIENT = 4
"""Optimiser steps that ``finetune.patience`` counts as one."""


def dealt(strata: Any, n_folds: int, random: np.random.Generator) -> Any:
    """The fold of each row ``(n,)``: of each stratum, and of all rows, the folds have equally many but for one.

    >>> np.bincount(dealt(np.array([0, 0, 0, 1, 1, 1, 2]), 3, np.random.default_rng(0)))
    array([3, 2, 2])
    """
    # By the place of each row among all, stratum by stratum and each in random order.
    return np.lexsort((random.permutation(len(strata)), strata)).argsort() % n_folds


def largest_share(losses: Any, caution: float) -> Any:
    """The largest share of a constant in a mixture whose loss is near the smallest one, ``(T,)``.

    Few labels hardly determine the shares, and too large a share of the network costs more than too small a one.

    Args:
        losses: of each share and label, ``(S, T, n)``.
        caution: standard errors of the mean difference to the best share that count as near. One is the
            one-standard-error rule of Breiman et al., 1984, section 3.4.3.
    """
    best = losses.mean(axis=-1).argmin(axis=0)
    excess = losses - losses[best, range(losses.shape[1])]
    errors = excess.std(axis=-1) / math.sqrt(losses.shape[-1])
    return np.where(excess.mean(axis=-1) <= caution * errors, SHARES[:, None], 0).max(axis=0)


class FoldedFinetuning(Finetuning):
    """Fine-tuning that is validated on labels which were left out, with the same result for all networks of a trial.

    Attributes:
        blind: for each network the one of its trial that is not shown a label, ``(T * (K + 1), n)``.
        constants: what outputs are mixed with: the frequencies of classes, ``(T * (K + 1), 1, C)``, or 0.
        shares: that the mixture may have of them, ``(S,)``.
    """

    blind: Tensor
    constants: Tensor
    shares: Tensor

    def validation_metrics(self, tensors: Any) -> Any:
        outputs = self.classifier(tensors[0])
        # Networks that have left have no outputs.
        all_outputs = outputs.new_full((len(self.blind), *outputs.shape[1:]), torch.nan)
        all_outputs[self.roster.index] = outputs
        blind = self.roster.of(self.blind).unsqueeze(-1).expand_as(outputs)
        loss = self._target.choose(classifier=mixed_cross_entropy, regressor=mixed_squared_error)
        return {"loss": loss(all_outputs.gather(0, blind), tensors[1], self.roster.of(self.constants), self.shares)}


def train_by_folds(stack: Stack, method: Any, phase: SupervisedPhase) -> tuple[MethodResult, Stack, Any]:
    """Train each trial for as long as its folds choose.

    Returns:
        The result, the stack whose predictions are mixed, and the columns ``finetune_chosen_steps`` and
        ``mixed_share``, ``(T,)`` each.
    """
    data, target, settings = stack.data, stack.table.target, phase.settings
    n_folds: Any = settings.folds
    size, numbers, networks = n_folds + 1, list[int](), list[Any]()
    for trial, labels in zip(stack.trials, data.labels, strict=True):
        fold = dealt(target.strata(labels), n_folds, stack.streams.numpy(trial, Purpose.FOLDS))
        networks += [fold + len(networks)] * size
        # Curves are of the last network.
        numbers += [-1] * n_folds + [trial]
    blind, places = np.array(networks), range(len(networks))
    positions = [place // size for place in places]
    fold_stack = stack.of(positions)
    fold_data = fold_stack.data
    fold_stack = replace(
        fold_stack, data=replace(fold_data, validation=fold_data.labelled, validation_labels=fold_data.labels)
    )

    examples = method.examples(fold_stack)
    # A label that is left out weighs nothing.
    weights = fold_stack.on_device(blind != np.array(places)[:, None]).to(stack.hardware.dtype)
    weights = weights * (1 if examples.weights is None else examples.weights)
    epochs = min(settings.fold_every // math.ceil(blind.shape[1] / settings.batch_size), settings.max_epochs)
    settings = replace(
        settings,
        schedule="constant",
        monitor="loss",
        metric=None,
        min_steps=min(settings.min_steps, SOONEST, settings.fold_steps),
        max_steps=settings.fold_steps,
        validate_every=max(settings.validate_every, epochs),
        patience=settings.patience and math.ceil(settings.patience * PATIENT / settings.fold_every),
    )
    module = FoldedFinetuning()
    truth = target.soft(data.labels)
    constants = truth.mean(axis=1, keepdims=True)
    # The mean of numbers is the network's 0.
    outputs = target.choose(classifier=constants, regressor=np.zeros((len(constants), 1, 1)))
    module.blind, module.shares = fold_stack.on_device(blind), fold_stack.on_device(SHARES)
    module.constants = fold_stack.on_device(outputs[positions])
    examples, start = replace(examples, weights=weights), phase.of(positions).pretrained
    fold_stack.begin_finetuning(module, settings, examples, start, supervision=method)
    fold_fit = fit(
        "finetune", module, fold_stack.datamodule, trials=tuple(numbers), hardware=stack.hardware, watch=stack.watch
    )

    last = places[n_folds::size]
    blind_predictions = fold_stack.predict(module.classifier, fold_data.labelled)[blind[last], range(blind.shape[1])]
    mixed_predictions = mixtures(blind_predictions, constants, SHARES)
    losses = (
        -np.log((mixed_predictions * truth).sum(axis=-1).clip(1e-15))
        if target.has_classes
        else (mixed_predictions - truth) ** 2
    )
    shares = largest_share(losses, settings.fold_caution)[:, None]
    parameters = data.preprocessing.target
    # A number's mixture with the mean has a smaller deviation.
    parameters = parameters * (1 - shares * [0, 1]) if parameters.size else shares * constants[:, 0]
    data = replace(data, preprocessing=replace(data.preprocessing, target=parameters))
    stack, final = replace(stack, data=data, device_table=stack.datamodule.table), fold_fit.of(last)
    predictions = stack.of(positions).predict(module.classifier, data.test[positions])
    votes = predictions.reshape(len(last), size, *predictions.shape[1:])
    if settings.fold_average:
        final = replace(final, weights={**final.weights, **_fold_weights(fold_fit, size)})
    else:
        votes = votes[:, n_folds:]
    measures = {"finetune_chosen_steps": final.best_epochs * module.steps_per_epoch, "mixed_share": shares[:, 0]}
    # The networks of a trial share the time.
    return (
        MethodResult(votes.mean(axis=1), final, np.full(len(last), size), final.seconds * size, final.diverged),
        stack,
        measures,
    )


def _fold_weights(fold_fit: Fit, size: int) -> dict[str, Tensor]:
    """The weights of the networks of folds, ``(T, ...)``, named ``classifier.fold_0.head.weight`` and so on."""
    return {
        f"classifier.{OF_FOLD}{fold}.{name}": weight[fold::size]
        for fold in range(size - 1)
        for name, weight in fold_fit.part("classifier").items()
    }
