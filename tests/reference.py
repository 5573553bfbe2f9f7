"""SCARF for one network, written a second time: plain `torch.nn`, one row of Algorithm 1 after the other, no stack.

It shares with the package only the seeds of the random streams and the rows of the split. The tests hold the stack to
it, and the benchmarks measure the stack against it.
"""

import copy
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from scarf_lightning.data.table import Table
from scarf_lightning.data.targets import Number
from scarf_lightning.randomness import Purpose, Streams


@dataclass
class ReferenceTrial:
    """One trial of SCARF: z-score and imputation over all rows, f with four layers, g and h with two."""

    table: Table
    train: np.ndarray
    validation: np.ndarray
    streams: Streams
    trial: int
    dtype: torch.dtype = torch.float64
    width: int = 256
    batch_size: int = 128
    rate: float = 0.6
    temperature: float = 1.0
    fused: bool = False
    x: Tensor = field(init=False)

    def __post_init__(self) -> None:
        columns = []
        for m, column in enumerate(self.table.columns):
            values = self.table.values[:, m].copy()
            seen = values[~np.isnan(values)]
            if column.is_categorical:
                values[np.isnan(values)] = np.bincount(seen.astype(int)).argmax()
            else:
                values[np.isnan(values)] = seen.mean()
                deviation = values.std()
                values = np.zeros_like(values) if values.min() == values.max() else (values - values.mean()) / deviation
            columns.append(values)
        self.x = torch.tensor(np.stack(columns, axis=1), dtype=self.dtype)
        self.f = self._network([self.encode(self.x[:1]).shape[1], *[self.width] * 4], Purpose.ENCODER, final_relu=True)

    def encode(self, x: Tensor) -> Tensor:
        parts = []
        for m, column in enumerate(self.table.columns):
            if column.is_categorical:
                parts.append(F.one_hot(x[:, m].long(), len(column.categories)).to(x.dtype))
            else:
                parts.append(x[:, m : m + 1])
        return torch.cat(parts, dim=1) if any(c.is_categorical for c in self.table.columns) else x

    def pretrain(self, max_epochs: int, patience: int = 3, max_steps: int | None = None) -> dict[str, list[float]]:
        """Train f and g until the patience is exceeded; f ends with the weights of the first best epoch."""
        g = self._network([self.width, self.width, self.width], Purpose.PRETRAIN_HEAD, final_relu=False)
        corruption = self._generator(Purpose.CORRUPTION)

        def step_loss(rows: Tensor) -> Tensor:
            x = self.x[rows]
            both = g(self.f(self.encode(torch.cat([x, self.corrupt(x, corruption)]))))
            return self.contrast(both[: len(x)], both[len(x) :])

        def validate() -> float:
            views = self._generator(Purpose.VALIDATION_VIEWS)
            total = 0.0
            for rows in self._batches(torch.from_numpy(self.validation)):
                x = self.x[rows]
                for _ in range(10):
                    view = self.corrupt(x, views)
                    loss = self.contrast(g(self.f(self.encode(x))), g(self.f(self.encode(view))))
                    total += loss.item() * len(x) / 10
            return total / len(self.validation)

        model = nn.ModuleList([self.f, g])
        return self._train(
            model, Purpose.PRETRAIN_ORDER, self.train, step_loss, validate, max_epochs, patience, max_steps
        )

    def finetune(self, max_epochs: int, patience: int = 3, max_steps: int | None = None) -> dict[str, list[float]]:
        """Train f and h on the true labels of the training rows; both end with the weights of the first best epoch.

        Numbers are standardised by the training rows, and their squared error is weighted by rows.
        """
        is_number = isinstance(self.table.target, Number)
        known = self.table.labels[self.train]
        self.mean, self.deviation = (known.mean(), known.std()) if is_number else (0, 1)
        labels = torch.tensor((self.table.labels - self.mean) / self.deviation)
        labels = labels.to(self.dtype) if is_number else labels.long()
        weights = torch.ones(len(labels)) if self.table.weights is None else torch.tensor(self.table.weights)
        widths = [self.width, self.width, self.table.target.n_outputs]
        self.h = self._network(widths, Purpose.HEAD, final_relu=False)

        def outputs(rows: Tensor) -> Tensor:
            return self.h(self.f(self.encode(self.x[rows])))

        def step_loss(rows: Tensor) -> Tensor:
            if not is_number:
                return F.cross_entropy(outputs(rows), labels[rows])
            share = weights[rows].to(self.dtype) / weights[rows].sum()
            return (share * (outputs(rows)[:, 0] - labels[rows]) ** 2).sum()

        def validate() -> float:
            rows = torch.from_numpy(self.validation)
            if not is_number:
                return (outputs(rows).argmax(1) != labels[rows]).double().mean().item()
            return (outputs(rows)[:, 0] - labels[rows]).abs().mean().item()

        model = nn.ModuleList([self.f, self.h])
        return self._train(
            model, Purpose.FINETUNE_ORDER, self.train, step_loss, validate, max_epochs, patience, max_steps
        )

    def predict(self, rows: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            outputs = self.h(self.f(self.encode(self.x[torch.from_numpy(rows)]))).double()
        if isinstance(self.table.target, Number):
            return (outputs[:, 0] * self.deviation + self.mean).numpy()
        return outputs.softmax(1).numpy()

    def corrupt(self, x: Tensor, random: torch.Generator) -> Tensor:
        """Algorithm 1, line 5."""
        n, m = x.shape
        order = torch.rand(n, m, generator=random, dtype=torch.float32)
        q = int(self.rate * m + 1e-9)
        selected = order.topk(q, dim=1, sorted=False).indices
        drawn = torch.randint(len(self.train), (n, m), generator=random).gather(1, selected)
        return x.scatter(1, selected, self.x[torch.from_numpy(self.train)[drawn], selected])

    def contrast(self, z: Tensor, z_corrupted: Tensor) -> Tensor:
        """Algorithm 1, lines 7 and 8."""
        similarity = F.normalize(z, dim=1) @ F.normalize(z_corrupted, dim=1).T
        return F.cross_entropy(similarity / self.temperature, torch.arange(len(z))) - math.log(len(z))

    def _train(
        self,
        model: nn.Module,
        purpose: Purpose,
        rows: np.ndarray,
        step_loss: Callable[[Tensor], Tensor],
        validate: Callable[[], float],
        max_epochs: int,
        patience: int,
        max_steps: int | None,
    ) -> dict[str, list[float]]:
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-7, fused=self.fused)
        order = self._generator(purpose)
        history: dict[str, list[float]] = {"steps": [], "validation": []}
        best, best_state, waited = math.inf, copy.deepcopy(model.state_dict()), 0
        for _ in range(max_epochs):
            for batch in self._batches(torch.from_numpy(rows)[torch.randperm(len(rows), generator=order)]):
                optimizer.zero_grad()
                loss = step_loss(batch)
                loss.backward()
                optimizer.step()
                history["steps"].append(loss.item())
                if len(history["steps"]) == max_steps:
                    return history
            with torch.no_grad():
                history["validation"].append(validate())
            if history["validation"][-1] < best:
                best, best_state, waited = history["validation"][-1], copy.deepcopy(model.state_dict()), 0
            else:
                waited += 1
            if waited > patience:
                break
        model.load_state_dict(best_state)
        return history

    def _batches(self, rows: Tensor) -> Iterator[Tensor]:
        batches = list(rows.split(self.batch_size))
        if len(batches) > 1 and len(batches[-1]) == 1:
            batches[-2:] = [torch.cat(batches[-2:])]
        return iter(batches)

    def _network(self, widths: list[int], purpose: Purpose, *, final_relu: bool) -> nn.Sequential:
        random = self._generator(purpose)
        layers: list[nn.Module] = []
        for n_in, n_out in itertools.pairwise(widths):
            layer = nn.Linear(n_in, n_out, dtype=self.dtype)
            uniform = torch.rand(n_in, n_out, generator=random, dtype=torch.float32)
            layer.weight.data = ((2 * uniform - 1) * math.sqrt(6 / (n_in + n_out))).T.contiguous().to(self.dtype)
            nn.init.zeros_(layer.bias)
            layers += [layer, nn.ReLU()]
        return nn.Sequential(*(layers if final_relu else layers[:-1]))

    def _generator(self, purpose: Purpose) -> torch.Generator:
        return torch.Generator().manual_seed(self.streams.seed_of(self.trial, purpose))
