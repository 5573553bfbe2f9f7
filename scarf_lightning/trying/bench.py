"""Two small tables, and a cell that trains on one of them with a part of a user's own in its place."""

from dataclasses import MISSING, fields, replace
from functools import cache
from typing import Any, get_type_hints

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from ..data.preprocessing import OneHotEncoding, ZScore
from ..data.splits import Random
from ..data.table import Table
from ..data.targets import Classes, Number
from ..data.trials import Full, RowRules, prepare_trials
from ..engine.hardware import Hardware
from ..engine.stack import Stack
from ..errors import UsageError
from ..methods import SupervisedPhase
from ..methods.fine_tuning import Control
from ..networks.mlp import MLP
from ..options.axes import parts
from ..options.settings import FinetuneSettings, NetworkSettings, PretrainSettings
from ..randomness import Streams

N_ROWS, WIDTH = 60, 8
SEED = 20_261_126
"""Of all trials. A part that seeds a generator by itself hardly takes the same."""
TRIALS = (0, 1, 2)
PRETRAIN = PretrainSettings(max_epochs=3, batch_size=8, patience=None, validation_passes=2)
FINETUNE = FinetuneSettings(max_epochs=2, batch_size=8, patience=None)
USUAL = {"corruption": "marginal", "selection": "exact", "loss": "infonce", "pretext": "scarf"}
"""The parts in fields of others, by the field; the pretext's axis has another name."""


@cache
def tables() -> tuple[Table, Table]:
    """A table of numbers, and one with categories and gaps, each with groups for splits that go by them."""
    random = np.random.default_rng(SEED)
    labels = random.integers(3, size=N_ROWS)
    numbers = random.normal(size=(4, N_ROWS)) + labels
    plain = pd.DataFrame(numbers.T, columns=list("abcd"))
    mixed = plain[["a", "b"]].mask(numbers[2:].T > 2)
    mixed["colour"] = np.array(["red", "green", "blue", None])[random.integers(4, size=N_ROWS)]

    def table(title: str, frame: pd.DataFrame) -> Table:
        return Table.from_frame(
            frame, pd.Series(labels.astype(str), name="y"), categorical=[each == "colour" for each in frame],
            name=title, source=title, split_by=np.arange(N_ROWS, dtype=np.float64) % 10,
        )  # fmt: skip

    return table("a table of numbers", plain), table("a table with categories and gaps", mixed)


def tables_for(part: Any) -> tuple[Table, ...]:
    """The tables, with a target that a part serves."""
    if Classes.is_among(getattr(part, "targets", ())):
        return tables()
    return tuple(replace(each, labels=each.labels.astype(float), target=Number("y")) for each in tables())


def made(cls: type[Any], **chosen: Any) -> Any:
    """A part with its defaults, the ``chosen`` parts, and usual ones in its other fields without a default."""
    kinds = get_type_hints(cls)
    for field in fields(cls):
        name = field.name
        if field.default is MISSING and name not in chosen and name in USUAL:
            known = parts("pretrain" if name == "pretext" else name)
            in_turn = [known[USUAL[name]], *known.values()]
            chosen[name] = made(next(each for each in in_turn if issubclass(each, kinds[name])))
    return cls(**chosen)


def pretext_of(axis: str, part: Any) -> Any:
    """The pre-training that a part is tried in: SCARF, if it takes it.

    Raises:
        UsageError: no pre-training takes it.
    """
    if axis == "pretrain":
        return part
    known, chosen = parts("pretrain"), {axis: part} if axis in USUAL else {}
    for cls in (known[USUAL["pretext"]], *known.values()):
        if not chosen or isinstance(part, get_type_hints(cls).get(axis, ())):
            return made(cls, **chosen)
    raise UsageError(
        f"no pre-training takes this {axis}; inherit from scarf_lightning.losses.ContrastiveLoss, or from "
        "Reconstruction or Discrimination of scarf_lightning.losses.loss"
    )


class Trained:
    """A cell with a part of an axis in its place, after its phases.

    Attributes:
        initial: the weights of f and g before pre-training, by their name, ``(T, ...)``.
        results: the same at its end, and the predictions.
        diverged: whether a trial lost its loss.
        embeddings: of two test rows among others, and alone.
        wanted: the trials and rows to predict.
    """

    def __init__(self, axis: str, part: Any, table: Table, trials: tuple[int, ...]) -> None:
        chosen: dict[str, Any] = {
            "regime": Full(),
            "scaling": ZScore(),
            "encoding": OneHotEncoding(),
            "split": Random(),
            "network": MLP(WIDTH),
            "method": Control(),
            axis: part,
        }
        encoded, streams = chosen["encoding"].encode(table), Streams(SEED, table.n_labelled)
        data = prepare_trials(
            encoded,
            trials,
            streams,
            RowRules(chosen["regime"], chosen["split"]),
            scaling=chosen["scaling"],
            fit_on="train",
        )
        stack = Stack(encoded, data, streams, Hardware(torch.device("cpu")), chosen["network"], NetworkSettings())
        self.initial, self.results = dict[str, Tensor](), dict[str, Tensor]()
        start, self.diverged, self.wanted = None, False, data.test.shape
        if chosen["method"].pretrainable:
            pretext = pretext_of(axis, part)
            f, g = stack.networks.encoder(trials).body, stack.networks.pretrain_head(trials, pretext)
            for place, network in (("encoder.body", f), ("head", g)):
                self.initial |= {f"{place}.{name}": each.detach() for name, each in network.named_parameters()}
            fit = stack.pretrain(PRETRAIN, pretext)
            start, self.diverged = fit.part("encoder"), bool(fit.diverged.any())
            self.results |= fit.weights
        # Of two rows among others, and alone.
        self.embeddings = stack.embed(data.test, start)[:, :2], stack.embed(data.test[:, :2], start)
        outcome = chosen["method"].run(stack, SupervisedPhase(FINETUNE, start))
        self.diverged |= bool(outcome.diverged.any())
        self.results["predictions"] = torch.from_numpy(outcome.predictions)
