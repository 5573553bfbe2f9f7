"""Trained networks with all that is needed to predict rows by them: no store, no training data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from ..config.registry import build
from ..data.datamodule import EVALUATION_ROWS
from ..data.device_table import DeviceTable
from ..data.preprocessing import Preprocessing
from ..data.reading import Reader
from ..data.table import Table
from ..engine.encoder import Classifier, Encoder
from ..engine.hardware import DTYPES
from ..engine.lifting import load_state, part_of
from ..engine.networks import Networks
from ..errors import UsageError
from ..networks import Columns
from ..randomness import Streams
from ..roster import Roster
from ..settings import DEFAULT_PRECISION, NetworkSettings

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Description:
    """What a model is, beside its numbers.

    Attributes:
        name: of the data.
        reader: reads rows as the table was read.
        classes: that it tells apart; none for a model of encoders alone.
        network: f and h.
        trials: whose networks they are.
        is_shared: whether preprocessing was fitted on the whole table, see `Preprocessing`.
        precision: that the networks were trained in.
        file: how a text file of rows is read, see `read_rows`.
        plugins: modules that the network is in.
    """

    name: str
    reader: Reader
    classes: tuple[str, ...]
    network: NetworkSettings
    trials: tuple[int, ...]
    is_shared: bool = True
    precision: str = DEFAULT_PRECISION
    file: Mapping[str, str | None] = field(default_factory=dict)
    plugins: tuple[str, ...] = ()


@dataclass(frozen=True)
class Model:
    """The networks of T trials, which vote: the probability of a class is the mean of what they give it.

    How it reads rows, and what it does with gaps, unseen categories and missing columns, is what `Reader` says; what is
    missing is imputed as each trial did, by the column's mode or mean.

    Attributes:
        description: what it is.
        preprocessing: of the T trials.
        weights: of f and h by name, ``(T, ...)`` each.
    """

    description: Description
    preprocessing: Preprocessing
    weights: Mapping[str, NDArray[Any]]

    @property
    def classes(self) -> list[str]:
        """In the order of the probabilities' columns."""
        return list(self.description.classes)

    @property
    def trials(self) -> list[int]:
        """The trials whose networks vote."""
        return list(self.description.trials)

    def predict(self, rows: pd.DataFrame) -> NDArray[np.object_]:
        """The most probable class of n rows, ``(n,)``; of equally probable ones the first.

        Raises:
            UsageError: see `Reader`, or the model has no classes.
        """
        codes = self.predict_proba(rows).argmax(axis=1)
        return np.asarray(np.array(self.classes, dtype=object)[codes])

    def predict_proba(self, rows: pd.DataFrame) -> Floats:
        """Probabilities of the classes, float64 ``(n, C)``.

        Raises:
            UsageError: see `Reader`, or the model has no classes.
        """
        return np.asarray(self.probabilities(self.description.reader.values(rows)).mean(axis=0))

    def transform(self, rows: pd.DataFrame) -> NDArray[np.float32]:
        """Embeddings of the T networks side by side, float32 ``(n, T * E)``.

        Raises:
            UsageError: see `Reader`.
        """
        return self.embeddings(self.description.reader.values(rows))

    def probabilities(self, values: Floats) -> Floats:
        """What each trial's network gives rows that have been read ``(n, M)``: ``(T, n, C)``.

        Raises:
            UsageError: a number is larger than the networks can compute with, or the model has no classes.
        """
        if not self.classes:
            raise UsageError("This model is of encoders alone, which know no classes; use transform.")
        return self._in_chunks(self.classifier, values).double().softmax(dim=-1).numpy()

    def embeddings(self, values: Floats) -> NDArray[np.float32]:
        """Embeddings of rows that have been read: ``(n, T * E)``.

        Raises:
            UsageError: a number is larger than the networks can compute with.
        """
        embedded = self._in_chunks(self.encoder, values)
        return np.asarray(embedded.movedim(0, 1).flatten(1).numpy(), dtype=np.float32)

    def save(self, folder: str | Path) -> None:
        """Write the model into a folder of its own, in place of a model that is there: numbers as safetensors, all else
        as JSON. `load_model` opens it, without the training data.

        Raises:
            UsageError: something else is there.
        """
        from .saving import save

        save(self, Path(folder))

    def to_onnx(self, file: str | Path) -> None:
        """Write the model as an ONNX file; see `scarf_lightning.estimators.onnx` for its inputs and outputs.

        Raises:
            UsageError: the extra ``onnx`` is not installed, or the file cannot be written.
        """
        from .onnx import to_onnx

        to_onnx(self, Path(file))

    def plain_encoders(self) -> list[torch.nn.Module]:
        """f of one trial, T times, not trained."""
        networks = self._networks
        return [networks.network.build(networks.columns, None).to(self._dtype) for _ in self.trials]

    def plain_heads(self) -> list[torch.nn.Module]:
        """h of one trial, T times, not trained."""
        return [self._networks.plain_head().to(self._dtype) for _ in self.trials]

    @property
    def _dtype(self) -> torch.dtype:
        return DTYPES[self.description.precision]

    @cached_property
    def encoder(self) -> Encoder:
        """f of the T trials, in evaluation."""
        return self.classifier.encoder if self.classes else self._built_encoder()

    @cached_property
    def classifier(self) -> Classifier:
        """f and h of the T trials, in evaluation."""
        head = self._networks.head(self.description.trials)
        load_state(head, self._part("head"))
        return Classifier(self._built_encoder(), head).requires_grad_(False).eval()

    def _built_encoder(self) -> Encoder:
        weights = self._part("encoder")
        encoder = self._networks.encoder(self.description.trials, weights)
        return encoder.requires_grad_(False).eval()

    @cached_property
    def _networks(self) -> Networks:
        said, columns = self.description, self.description.reader.columns
        return Networks(
            Columns(tuple(column.n_indicators for column in columns)),
            len(said.classes),
            Streams(0, ""),  # of initial weights, in whose place the trained ones come
            build("network", {"name": said.network.name} | said.network.encoder, "network.encoder"),
            said.network,
            look=_no_training_rows,
        )

    def _part(self, prefix: str) -> dict[str, torch.Tensor]:
        return {name: torch.from_numpy(np.array(weight)) for name, weight in part_of(self.weights, prefix).items()}

    @torch.no_grad()
    def _in_chunks(self, network: torch.nn.Module, values: Floats) -> torch.Tensor:
        """What a network of T trials gives for rows ``(n, M)``: ``(T, n, ...)``."""
        n_trials, n = len(self.description.trials), len(values)
        columns = self.description.reader.columns
        table = Table("rows", None, "a DataFrame", columns, values, np.zeros(n, dtype=np.int64), ())
        on_device = DeviceTable(table, self.preprocessing, device="cpu", dtype=self._dtype)
        index = torch.arange(n).expand(n_trials, n)
        chunks = torch.split(index, EVALUATION_ROWS, dim=1)
        return torch.cat([network(on_device.rows(chunk, Roster(n_trials))) for chunk in chunks], dim=1)


def preprocessing_of(vectors: Mapping[str, Floats], *, is_shared: bool) -> Preprocessing:
    """Out of what was kept of it, by name."""
    return Preprocessing(vectors["fill"], vectors["shift"], vectors["scale"], is_shared)


def _no_training_rows(position: int) -> torch.Tensor:
    raise AssertionError("a trained network looks at no rows")
