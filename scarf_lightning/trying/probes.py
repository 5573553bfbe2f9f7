"""How each kind of part of a training step is tried: corruptions, selections, losses, pretexts and networks."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..corruption.strategies import Exact
from ..engine.blame import is_foreign
from ..engine.encoder import TrainingData
from ..engine.lifting import give_streams, state
from ..losses.loss import Discrimination
from ..randomness import StackedGenerator
from .bench import N_BATCH, SEED, WIDTH, Sample
from .call import AVERAGE, Call, Output, Probe, WrongError, as_tensor, as_tuple, gradient, numbers, rows_of

RATE = 0.5
"""Of the features that a selection is asked for."""


class CorruptionProbe(Probe):
    """A view of the rows and its mask; the view is encoded as it is for f."""

    returns: ClassVar[Mapping[str, str]] = {
        "replacement": "the values, a tensor that broadcasts to x (..., N, M)",
        "__call__": "the view and the mask, two tensors of the shape of x",
    }

    def call(self, part: Any, call: Call) -> dict[str, Output]:
        sample = call.sample
        is_raw = part.space == "raw"
        x = call.given(sample.raw if is_raw else sample.rows.encoded)
        name = "replacement" if hasattr(part, "replacement") else ""
        result = call.run(part, x, sample.source, sample.random, Exact(), name=name)
        returns = self.returned(call.function)
        view, mask = as_tuple(result, 2, "its view and its mask", returns)
        as_tensor(view, "its view", returns)
        as_tensor(mask, "its mask", returns)
        shape = tuple(x.shape[-2:])
        outputs = {"its view": Output(view, shape), "its mask": Output(mask, shape, "bool")}
        if view.shape == x.shape:
            if is_raw:
                _check_codes(view, call)
                outputs["its view, encoded,"] = Output(sample.source.encode(view))
            call.seen = f"{_share(view, x)} of the values differ; three rows of a view: {rows_of(view)}"
        if part.learns_missing_values:
            call.gradients["source.missing_values()"] = gradient(view, sample.source.missing_values())
        return outputs


def _check_codes(view: Tensor, call: Call) -> None:
    """Refuse a value in a column of categories that is none of their numbers."""
    for column, name in enumerate(call.bench.column_names[view.shape[-1]]):
        n_categories = call.bench.columns.n_categories[column]
        values = view[..., column]
        wrong = values[(values % 1 != 0) | (values < 0) | (values >= n_categories)]
        if n_categories and wrong.numel():
            raise WrongError(
                f"gives {wrong[0]:.3g} in the column {name!r}, whose categories are 0 to {n_categories - 1}: with "
                'space="raw" values may be exchanged, not averaged; leave space out to work on encoded columns'
            )


def _share(view: Tensor, x: Tensor) -> str:
    return f"{(view != x).float().mean():.0%}"


class SelectionProbe(Probe):
    """The mask of a mini-batch at a rate of one half."""

    returns: ClassVar[Mapping[str, str]] = {"mask": "a mask, a tensor of bool (..., n_rows, n_features)"}

    def call(self, part: Any, call: Call) -> dict[str, Output]:
        n_features = call.bench.columns.n_features
        mask = call.run(part.mask, RATE, N_BATCH, n_features, call.sample.random)
        as_tensor(mask, "its mask", self.returned("mask"))
        if not mask.any():
            raise WrongError(f"selects nothing at a rate of {RATE}, so views are the rows themselves")
        call.seen = f"{mask.float().mean():.0%} of the features are selected at a rate of {RATE:.0%}"
        return {"its mask": Output(mask, (N_BATCH, n_features), "bool")}


class LossProbe(Probe):
    """The loss, and the error, of embeddings of two views: of unlike ones, of equal ones, and of zeros."""

    otherwise: ClassVar[str] = AVERAGE

    def call(self, part: Any, call: Call) -> dict[str, Output]:
        width = 1 if isinstance(part, Discrimination) else WIDTH
        views = [call.given(call.sample.tensor(N_BATCH, width, seed=seed).requires_grad_()) for seed in (0, 100)]
        cases = {
            "its loss": views,
            "its loss of two equal views": [views[0], views[0].detach().clone()],
            "its loss of embeddings that are all 0": [torch.zeros_like(view, requires_grad=True) for view in views],
        }
        outputs, values = {}, list[str]()
        for name, (first, second) in cases.items():
            loss = as_tensor(call.run(part, first, second), name, AVERAGE)
            outputs[name] = Output(loss, (), function=call.function)
            call.gradients[name.replace("its loss", "its inputs")] = gradient(loss, [first, second])
            values.append(f"{float(loss.detach().flatten()[0]):.3f}" if loss.numel() else "")
        if part.has_error:
            outputs["its error"] = Output(as_tensor(call.run(part.error, *views), "its error", AVERAGE), ())
        call.seen = f"{values[0]} for unlike views, {values[1]} for equal ones"
        return outputs


class PretextProbe(Probe):
    """Views, f and g, and the loss of their outputs."""

    returns: ClassVar[Mapping[str, str]] = {
        "make_views": "Views(inputs=(...), targets=(...)), tuples of tensors (..., N, ...)",
        "head": "a torch.nn.Module from embeddings (..., N, E) to outputs (..., N, ...)",
    }
    otherwise: ClassVar[str] = AVERAGE
    draws: ClassVar[str] = "rows.random.normal(N, M), rows.random.uniform(N, M) or rows.corrupted(...)"

    def call(self, part: Any, call: Call) -> dict[str, Output]:
        sample = call.sample
        call.given(sample.rows.encoded)
        views = call.run(part.make_views, sample.rows)
        outputs, returns = {}, self.returned("make_views")
        for field in ("inputs", "targets"):
            for number, tensor in enumerate(as_tuple(getattr(views, field, views), None, field, returns)):
                as_tensor(tensor, f"one of its {field}", returns)
                shape = (N_BATCH, call.bench.columns.n_encoded) if field == "inputs" else None
                kind: Any = "number" if tensor.is_floating_point() else "any"
                outputs[f"number {number + 1} of its {field}"] = Output(tensor, shape, kind, call.function)
        if any(tensor.shape[-2:] != (N_BATCH, call.bench.columns.n_encoded) for tensor in views.inputs):
            return outputs

        call.function = "head"
        networks = call.bench.networks()
        f = networks.encoder(sample.trials).body
        g = networks.pretrain_head(sample.trials, part)
        head_outputs = tuple(sample.through(g, sample.through(f, x)) for x in views.inputs)
        loss = as_tensor(call.run(part.compute_loss, head_outputs, views.targets), "its loss", AVERAGE)
        outputs["its loss"] = Output(loss, (), function=call.function)
        if part.has_error:
            error = call.run(part.compute_error, head_outputs, views.targets)
            outputs["its error"] = Output(as_tensor(error, "its error", AVERAGE), (), function=call.function)
        if part.uses_labels:
            joined = call.run(part.with_labels, loss, torch.ones_like(loss))
            outputs["its loss with labels"] = Output(as_tensor(joined, "its loss with labels", AVERAGE), ())
        call.gradients["f"] = gradient(loss, list(f.parameters()))
        call.gradients["g"] = gradient(loss, list(g.parameters()))
        call.seen = f"{len(views.inputs)} inputs, {len(views.targets)} targets; loss {numbers(loss, 1)}"
        return outputs


class NetworkProbe(Probe):
    """Embeddings in training and in evaluation, the initial weights, and outputs of h."""

    returns: ClassVar[Mapping[str, str]] = {
        "build": "a torch.nn.Module from (..., N, D) to embeddings (..., N, E)",
        "forward": "embeddings, a tensor (..., N, E)",
        "head": "a torch.nn.Module from embeddings (..., N, E) to (..., N, n_outputs)",
    }
    draws: ClassVar[str] = "scarf_lightning.networks.Dropout, a layer"

    def call(self, part: Any, call: Call) -> dict[str, Output]:
        sample = call.sample
        # A constructor may draw initial weights from torch's global generator, which holds the trial's stream then.
        with torch.random.fork_rng(devices=[]):
            module = call.run(part.build, call.bench.columns, None)
        if not isinstance(module, torch.nn.Module):
            raise WrongError(f"gives a {type(module).__name__}; it has to return {self.returned('build')}")
        training = TrainingData(partial(_training_rows, call), partial(_training_labels, call))
        networks = replace(call.bench.networks(part), data=training)
        encoder = networks.encoder(sample.trials)
        f = encoder.body
        outputs = {"its initial weights": Output(sample.without_axis(_flat(state(f), sample)), None, "any")}
        x = call.given(sample.rows.encoded)
        call.owner = type(module) if is_foreign(type(module)) else None
        embedded = {}
        for mode in ("training", "evaluation"):
            f.train(mode == "training")
            give_streams(f, StackedGenerator([SEED + trial for trial in sample.trials]))
            embedding = call.run(sample.through, f, x, name="forward")
            embedded[mode] = as_tensor(embedding, "its embedding", self.returned("forward"))
            outputs[f"its embedding in {mode}"] = Output(embedded[mode], (N_BATCH, None))
        fewer = sample.through(f, x[..., : N_BATCH // 2, :])
        outputs["its embedding of half of the rows"] = Output(fewer, (N_BATCH // 2, None))
        call.gradients["its weights"] = gradient(embedded["training"].square(), list(f.parameters()))
        width = embedded["training"].shape[-1]
        n_weights = sum(each[0].numel() for each in f.parameters())
        call.seen = f"{x.shape[-1]} columns to embeddings of {width}, {n_weights:,} weights"
        if embedded["training"].shape[-2:-1] != (N_BATCH,):
            return outputs
        owner, call.owner = call.owner, None
        call.function = "head"
        h = networks.head(sample.trials, encoder).eval()
        outputs["the output of h"] = Output(sample.through(h, embedded["evaluation"]), (N_BATCH, 3))
        # What the checks find is mostly in f.
        call.function, call.owner = "forward", owner
        return outputs


def _flat(tensors: dict[str, Tensor], sample: Sample) -> Tensor:
    """All numbers of tensors ``(T, ...)``: ``(T, n)``."""
    rows = [tensor.detach().double().flatten(1) for tensor in tensors.values()]
    return torch.cat(rows, dim=1) if rows else torch.zeros(len(sample.trials), 0)


def _training_rows(call: Call, position: int) -> Tensor:
    """The encoded training rows ``(n, D)`` of a trial."""
    sample = call.bench.sample(len(call.sample.trials))
    everywhere = torch.arange(sample.source.n_rows).expand(len(sample.trials), -1)
    rows: Tensor = sample.source.encoded_rows(everywhere)
    return rows[position].detach()


def _training_labels(call: Call, position: int) -> Tensor:
    """The class numbers ``(n,)`` of the training rows of a trial."""
    sample = call.bench.sample(len(call.sample.trials))
    return torch.from_numpy(call.bench.table.labels)[sample.train[position]]
