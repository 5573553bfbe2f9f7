"""Plain TabM: one network that imitates an ensemble."""

import math
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from ..options.option import option
from .rivals import Floats, Lesson, Rival


@dataclass
class TabM(Rival):
    """The authors' package without embeddings of numbers. It is trained by AdamW on the mean loss of the ``k``
    predictions: cross-entropy, or the squared error of standardised numbers. Their probabilities or numbers are
    averaged. Early stopping keeps the first epoch with the best validation accuracy, of numbers the lowest RMSE.

    Differs from the paper: its strongest variants embed each number (piecewise-linear or periodic); here the numbers
    enter as they are. Inputs are scaled as for every other part, by the cell's ``scaling``; the authors map numbers to
    the quantiles of a normal distribution. Gradients are not clipped; the authors clip their norm at 1. Options are the
    authors' suggested ones; they tune them for each dataset.
    """

    name: ClassVar[str] = "tabm"
    typical_seconds: ClassVar[tuple[float, float]] = (3.0, 10.0)
    package: ClassVar[str] = "tabm"
    needs_device: ClassVar[bool] = True
    label: ClassVar[str] = "plain TabM"
    validates: ClassVar[bool] = True
    paper: ClassVar[str] = "Gorishniy et al., 2025, arXiv:2410.24210"
    search_space: ClassVar[dict[str, Any]] = {
        "learning_rate": ("log", 1e-4, 5e-3),
        "n_blocks": ("int", 1, 4),
        "d_block": ("one_of", 64, 128, 256, 512),
        "dropout": ("float", 0.0, 0.5),
    }
    k: int = option(32, "number of predictions that are averaged", "[1, 100000]")
    n_blocks: int = option(3, "number of layers", "[1, 100000]")
    d_block: int = option(512, "units of a layer", "[1, 100000]")
    dropout: float = option(0.1, "dropout rate", "[0, 1)")
    learning_rate: float = option(2e-3, "step size of AdamW", "(0, 1e12]")
    weight_decay: float = option(3e-4, "weight decay of AdamW", "[0, inf)")
    batch_size: int = option(256, "rows of a step", "[2, 1000000000]")
    max_epochs: int = option(1000, "largest number of epochs", "[1, 1000000]")
    patience: int = option(16, "epochs without a better validation score that training may have", "[0, 1000000]")

    def predict(self, lesson: Lesson) -> Floats:
        stack = lesson.stack
        device = stack.hardware.device
        devices = [device] if device.type == "cuda" else []
        # Its layers draw from the global generator of torch, which is put back afterwards.
        with torch.random.fork_rng(devices):
            torch.manual_seed(lesson.seed)
            network = self._network(lesson)
            self._train(network, lesson)
        return self._predictions(network, lesson, stack.raw(stack.data.predicted)[0])

    def _network(self, lesson: Lesson) -> nn.Module:
        import tabm

        is_categorical = lesson.stack.table.is_categorical
        network: nn.Module = tabm.TabM.make(
            n_num_features=int((~is_categorical).sum()),
            # Numbers of categories count the columns of categories alone.
            cat_cardinalities=[n for n in lesson.stack.table.n_categories if n],
            d_out=lesson.target.choose(classifier=len(np.unique(lesson.labels)), regressor=1),
            k=self.k,
            n_blocks=self.n_blocks,
            d_block=self.d_block,
            dropout=self.dropout,
        )
        return network.to(lesson.stack.hardware.device, lesson.stack.hardware.dtype)

    def _train(self, network: nn.Module, lesson: Lesson) -> None:
        """Train; the network ends with the weights of its first best epoch."""
        # It imports Lightning, which takes seconds.
        from ..data.datamodule import batch_bounds

        data, target = lesson.stack.data, lesson.target
        x = lesson.stack.raw(data.labelled)[0]
        targets, weights = self._targets_and_weights(lesson)
        optimizer = torch.optim.AdamW(network.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay)
        best_score = -math.inf
        n_waited = 0
        best_weights = network.state_dict()
        for _ in range(self.max_epochs):
            network.train()
            order = torch.randperm(len(x)).to(x.device)
            for start, end in batch_bounds(len(x), self.batch_size):
                rows = order[start:end]
                # Each of the k predictions counts as a row.
                outputs = _forward(network, lesson, x[rows]).flatten(0, 1)
                output_targets = targets[rows].repeat_interleave(self.k, dim=0)
                output_weights = None
                if weights is not None:
                    output_weights = weights[rows].repeat_interleave(self.k)
                loss = target.loss(outputs, output_targets, output_weights)
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
            score = self._score(network, lesson)
            n_waited += 1
            # The first best epoch is kept, so an equal score later changes nothing.
            if score > best_score:
                best_score = score
                n_waited = 0
                # The tensors of a state are those of the network, which the next step changes.
                best_weights = deepcopy(network.state_dict())
            if n_waited > self.patience:
                break
        network.load_state_dict(best_weights)

    def _targets_and_weights(self, lesson: Lesson) -> tuple[Tensor, Tensor | None]:
        """Labels as the loss takes them, and weights of the rows if they have any."""
        hardware = lesson.stack.hardware
        fitted = lesson.stack.data.preprocessing.target
        encoded = torch.from_numpy(lesson.target.encode(lesson.labels[None], fitted)[0])
        # Numbers of classes stay integers.
        dtype = hardware.dtype if encoded.is_floating_point() else None
        targets = encoded.to(hardware.device, dtype)
        if lesson.weights is None:
            return targets, None
        weights = torch.from_numpy(lesson.weights)
        return targets, weights.to(hardware.device, hardware.dtype)

    def _score(self, network: nn.Module, lesson: Lesson) -> float:
        """The usual metric of the target on the validation rows, higher if better."""
        data, target = lesson.stack.data, lesson.target
        truth = data.validation_labels[0]
        rows = lesson.stack.raw(data.validation)[0]
        present_predictions = self._predictions(network, lesson, rows)
        # The network's classes are those that occur among the labels; the metric's are all of the table's.
        predicted = target.taught(data.labels[0], len(truth), lambda _: present_predictions)
        metric = next(each for each in target.metrics() if each.name == target.usual_metric)
        return metric.sign * metric.function(predicted, truth)

    @torch.no_grad()
    def _predictions(self, network: nn.Module, lesson: Lesson, x: Tensor) -> Floats:
        """Predictions for raw rows ``(N, M)``, the mean of the k ones."""
        from ..data.datamodule import EVALUATION_ROWS

        network.eval()
        chunks = []
        for chunk in torch.split(x, EVALUATION_ROWS):
            chunks.append(_forward(network, lesson, chunk))
        outputs = torch.cat(chunks).double()
        fitted = torch.from_numpy(lesson.stack.data.preprocessing.target).to(x.device)
        member_predictions = lesson.target.predictions(outputs, fitted)
        # Probabilities are averaged, not logits, as the authors do in evaluation.
        predictions: Floats = member_predictions.mean(dim=1).cpu().numpy()
        return predictions


def _forward(network: nn.Module, lesson: Lesson, x: Tensor) -> Tensor:
    """Outputs ``(N, k, n_outputs)`` for raw rows ``(N, M)``; of classes those that occur among the labels."""
    is_categorical = torch.from_numpy(lesson.stack.table.is_categorical).to(x.device)
    numbers, codes = x[:, ~is_categorical], x[:, is_categorical].long()
    # The package takes None for a kind of column that a table does not have.
    outputs: Tensor = network(numbers if numbers.shape[1] else None, codes if codes.shape[1] else None)
    return outputs
