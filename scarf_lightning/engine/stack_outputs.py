"""The networks of a stack of trials, and what they give for its rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..data.datamodule import EVALUATION_ROWS
from ..networks import Columns, Network
from ..options.settings import NetworkSettings
from .encoder import Classifier, Networks, TrainingData
from .stack_data import StackData


@dataclass(frozen=True)
class StackOutputs(StackData):
    """T trials and their networks.

    Attributes:
        network: f.
        settings: of g, h and the initial weights.
    """

    network: Network
    settings: NetworkSettings

    @cached_property
    def networks(self) -> Networks:
        return Networks(
            columns=Columns.of(self.table.columns),
            n_outputs=self.table.target.n_outputs,
            streams=self.streams,
            network=self.network,
            settings=self.settings,
            data=TrainingData(self._training_rows, self._training_targets),
        )

    @torch.no_grad()
    def embed(self, rows: NDArray[np.int64], pretrained: Mapping[str, Tensor] | None = None) -> NDArray[np.floating]:
        """Embeddings of ``rows`` ``(T, n)`` by f with ``pretrained`` or initial weights, ``(T, n, E)``."""
        encoder = self.networks.encoder(self.trials, pretrained)
        encoder = encoder.to(self.hardware.device, self.hardware.dtype).eval()
        embeddings = self._chunked_outputs(encoder, rows).to(self.hardware.dtype)
        embedded: NDArray[np.floating] = embeddings.cpu().numpy()
        return embedded

    def predict(self, classifier: Classifier, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Predictions of ``rows`` ``(T, n)``: float64 probabilities ``(T, n, C)``, or numbers ``(T, n)``."""
        outputs = self.outputs(classifier, rows)
        return self.table.target.predictions(outputs, self._fitted).cpu().numpy()

    @torch.no_grad()
    def outputs(self, classifier: Classifier, rows: NDArray[np.int64]) -> Tensor:
        """The outputs of h for ``rows`` ``(T, n)``, float64 ``(T, n, C)``."""
        return self._chunked_outputs(classifier.eval(), rows).double()

    def _chunked_outputs(self, network: nn.Module, rows: NDArray[np.int64]) -> Tensor:
        """The outputs of a network for ``rows`` ``(T, n)``, computed a few rows at a time to save memory."""
        # All rows at once may not fit into the device's memory.
        chunks = torch.split(self.on_device(rows), EVALUATION_ROWS, dim=1)
        outputs = [network(self._fetch(chunk)) for chunk in chunks]
        return torch.cat(outputs, dim=1)
