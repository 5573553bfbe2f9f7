"""The trained networks of a cell, with all that they need to compute on new rows: no store, no training data."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..data.device_table import DeviceTable
from ..data.preprocessing import VECTORS, Preprocessing
from ..data.table import Column, Table
from ..data.targets import Number
from ..engine.encoder import Classifier, Encoder, Networks, TrainingData
from ..engine.hardware import DTYPES, own_torch
from ..engine.lifting import lift, load_state, part_of, state
from ..errors import UsageError
from ..networks import Columns
from ..options import build, read
from ..options.settings import LayerSettings, NetworkSettings
from ..randomness import Roster, Streams
from ..results import DamagedRecordError
from ..results.records import WEIGHTS
from .predictor import Floats, Predictor, TableDescription
from .saving import PREPROCESSING, as_tensors

if TYPE_CHECKING:
    from ..options import Config

ROWS_AT_ONCE = 1024
Weights = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class Description(TableDescription):
    """Description of trained networks in plain values, as a file keeps it beside their arrays.

    Attributes:
        network: the name of f.
        encoder: the options of f.
        head: the layers of h.
        trials: the numbers of the trials.
        precision: the precision of training.
        plugins: modules that define the network or the kind of target.

    Raises:
        ValueError: a value is not possible.
    """

    network: str
    encoder: dict[str, Any]
    head: LayerSettings
    trials: tuple[int, ...]
    precision: str
    plugins: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        trials = set(self.trials)
        if not trials or len(trials) < len(self.trials) or min(trials) < 0:
            raise ValueError("trials must be different numbers from 0")
        if self.precision not in DTYPES:
            raise ValueError(f"precision must be one of {', '.join(DTYPES)}")

    def networks(self, streams: Streams) -> Networks:
        """Builds f and h; ``streams`` draw their initial weights."""
        network = build("network", {"name": self.network} | self.encoder, "network.encoder")
        settings = NetworkSettings(name=self.network, encoder=self.encoder, head=self.head)
        columns = Columns.of(self.columns)
        # Encoders alone have no head, whose width this is.
        n_outputs = 0
        if self.predicts is not None:
            n_outputs = self.predicts.n_outputs
        data = TrainingData(_no_training_rows, _no_training_rows)
        return Networks(columns, n_outputs, streams, network, settings, data)


@dataclass(eq=False)
class TrainedNetworks(Predictor):
    """The networks of T trials and the preprocessing in front of them.

    Attributes:
        description: what they are.
        preprocessing: of the T trials.
        weights: arrays of f and h by name, ``(T, ...)`` each.
        options: the configuration of their cell, in plain values. A saved model does not have it.
    """

    description: Description
    preprocessing: Preprocessing
    weights: Weights
    options: Mapping[str, Any] | None = None

    @cached_property
    def config(self) -> "Config | None":
        """The configuration of their cell, if it is known.

        Raises:
            UsageError: it needs a module of the user's that is not imported.
        """
        if self.options is None:
            return None
        # Importing a module runs it, so it is left to the user, even for a model that is here already.
        for module in self.options["plugins"]:
            if module not in sys.modules:
                raise UsageError(f"The model's options are those of the module {module}; import it first.")
        return read(self.options)

    def files(self) -> dict[str, bytes]:
        """Its files by name."""
        return {WEIGHTS: as_tensors(self.weights), PREPROCESSING: as_tensors(self.preprocessing.arrays())}

    def check(self) -> None:
        """Make sure that the arrays belong to the described networks.

        A false description cannot ask for more memory than the arrays take: the networks are first built without any.

        Raises:
            DamagedRecordError: an array is missing, is not expected, has another shape, or holds NaN; or the networks
                cannot be built.
        """
        try:
            self._check()
        except (UsageError, DamagedRecordError):
            raise
        except Exception as error:
            # Networks refuse impossible options each in its own way.
            raise DamagedRecordError(f"the described network cannot be built: {error}") from error

    def _check(self) -> None:
        networks = self._networks
        target = self.description.predicts
        # A module on this device has shapes and no memory.
        with torch.device("meta"):
            network = networks.network.build(networks.columns, None)
            encoder = Encoder(networks.columns, [network], width=0, learns_missing_values=False)
        expected = _shapes("encoder", encoder)
        # Only an encoder of pre-training holds what its corruption has learnt in place of missing values.
        if "encoder.missing" in self.weights:
            expected["encoder.missing"] = (1, networks.columns.n_encoded)
        encoder_weights = {}
        for name, weight in self.weights.items():
            if not name.startswith("head."):
                encoder_weights[name] = weight
        self._compare(encoder_weights, expected)
        if target is not None:
            # The width is computed by f, which is safe to build after its arrays were compared.
            _ = networks.width
            with torch.device("meta"):
                expected |= _shapes("head", lift([networks.plain_head()]))
        self._compare(self.weights, expected)
        self._check_preprocessing()

    def _check_preprocessing(self) -> None:
        vectors = self.preprocessing.arrays()
        target = self.description.predicts
        n_columns = len(self.description.columns)
        expected: dict[str, tuple[int, ...]] = {}
        for name in VECTORS:
            expected[name] = (n_columns,)
        if "clip" in vectors:
            expected["clip"] = (n_columns,)
        if "curve" in vectors:
            expected["curve"] = (n_columns, 2, *vectors["curve"].shape[3:4])
        if target is not None and target.n_fitted:
            expected["target"] = (target.n_fitted,)
        # A number whose gaps networks see is not imputed.
        shows = np.array([column.adds_gap_column for column in self.description.columns])
        if vectors.get("fill", shows).shape[1:] == shows.shape:
            vectors["fill"] = np.where(np.isnan(vectors["fill"]) & shows, 0.0, vectors["fill"])
        self._compare(vectors, expected)
        for vector in vectors.values():
            if not np.isfinite(vector).all():
                raise DamagedRecordError("the preprocessing holds an infinite value")

    def _compare(self, arrays: Weights, expected: Mapping[str, tuple[int, ...]]) -> None:
        """Compare the names and shapes of arrays with those that are expected of a single trial."""
        n_trials = len(self.description.trials)
        for name in sorted({*arrays, *expected}):
            if name not in arrays:
                raise DamagedRecordError(f"{name} is missing")
            if name not in expected:
                raise DamagedRecordError(f"{name} is not part of the described network")
            array = arrays[name]
            shape = (n_trials, *expected[name])
            if array.shape != shape or array.dtype.kind not in "fiub":
                sizes = " x ".join(map(str, shape))
                raise DamagedRecordError(f"{name} is not an array of {sizes} numbers")
            if np.isnan(array).any():
                raise DamagedRecordError(f"{name} holds NaN")

    @cached_property
    @own_torch()
    def encoder(self) -> Encoder:
        """f of the T trials, in evaluation mode."""
        weights = self._part("encoder")
        learns = "missing" in weights
        encoder = self._networks.encoder(self.description.trials, weights, learns_missing_values=learns)
        # Pre-training learned these values; they are no weights of f.
        if encoder.missing is not None:
            encoder.missing.data = weights["missing"]
        return encoder.requires_grad_(False).eval()

    @cached_property
    @own_torch()
    def classifier(self) -> Classifier:
        """h after f of the T trials, in evaluation mode. Raises UsageError for encoders alone."""
        _ = self.target
        head = self._networks.head(self.description.trials)
        load_state(head, self._part("head"))
        return Classifier(self.encoder, head).requires_grad_(False).eval()

    @property
    def dtype(self) -> torch.dtype:
        """Of parameters and inputs."""
        return DTYPES[self.description.precision]

    def predictions(self, values: Floats, index: NDArray[np.int64] | None = None) -> Floats:
        """The predictions of each trial for values ``(n, M)``: probabilities ``(T, n, C)`` or numbers ``(T, n)``.

        With an ``index`` ``(T, m)`` they are for these rows of each trial alone, m in place of n.
        """
        outputs = self.chunked_outputs(self.classifier, values, index).double()
        # A copy: torch warns of arrays that cannot be written to.
        fitted = torch.from_numpy(np.array(self.preprocessing.target))
        return self.target.predictions(outputs, fitted).numpy()

    def on_device(self, values: Floats) -> DeviceTable:
        """Values ``(n, M)`` as a table that is imputed and scaled when rows are taken from it."""
        # A table has labels; these are not looked at.
        labels = np.zeros(len(values))
        table = Table(
            name="rows",
            dataset_id=None,
            source="a DataFrame",
            columns=self.description.columns,
            values=values,
            labels=labels,
            target=Number(),
        )
        return DeviceTable(table, self.preprocessing, device="cpu", dtype=self.dtype)

    @cached_property
    def _networks(self) -> Networks:
        # The trained weights replace the initial ones.
        return self.description.networks(Streams(0, 0))

    def _part(self, prefix: str) -> dict[str, torch.Tensor]:
        """The weights of f or of h, by their names in it."""
        tensors = {}
        for name, weight in part_of(self.weights, prefix).items():
            tensor = torch.from_numpy(np.array(weight))
            tensors[name] = tensor.to(self.dtype)
        return tensors

    @own_torch()
    @torch.no_grad()
    def chunked_outputs(
        self, network: torch.nn.Module, values: Floats, index: NDArray[np.int64] | None = None
    ) -> torch.Tensor:
        """The outputs of a network of T trials for values ``(n, M)``: ``(T, n, ...)``; the index is as in
        `predictions`."""
        n_trials = len(self.description.trials)
        roster = Roster(n_trials)
        table = self.on_device(values)
        # Every trial computes on the same rows, unless each has its own.
        rows = torch.arange(len(values)).expand(n_trials, len(values))
        if index is not None:
            rows = torch.from_numpy(index)
        outputs = []
        for chunk in torch.split(rows, ROWS_AT_ONCE, dim=1):
            batch = table.rows(chunk, roster)
            outputs.append(network(batch))
        joined = torch.cat(outputs, dim=1)
        if not joined.isfinite().all():
            raise UsageError("The networks give no numbers for these rows: weights or values are too large.")
        return joined


def named(column: Column, codes: Floats, gap: Any) -> NDArray[Any]:
    """The categories that codes ``(n,)`` stand for; -1 and NaN become the gap."""
    categories = column.categories or ()
    # The code -1 takes the last one.
    names = np.array([*categories, gap], dtype=object)
    whole = np.rint(np.nan_to_num(codes, nan=-1))
    return names[whole.astype(np.int64)]


def _shapes(part: str, module: torch.nn.Module) -> dict[str, tuple[int, ...]]:
    """The shapes of a stacked module's arrays without the trial axis, by their names in a model."""
    shapes = {}
    for name, tensor in state(module).items():
        shapes[f"{part}.{name}"] = tuple(tensor.shape[1:])
    return shapes


def _no_training_rows(position: int) -> torch.Tensor:
    raise UsageError("This network looks at its training rows before training; load another phase than initial.")
