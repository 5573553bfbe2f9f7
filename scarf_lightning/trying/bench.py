"""Two small tables to try parts on, one of numbers and one with categories and gaps; each has three trials."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, get_type_hints

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from ..corruption import Corruption
from ..data.device_table import DeviceTable
from ..data.preprocessing import ZScore
from ..data.table import Table
from ..data.targets import Number
from ..data.trials import Full, TrialData, prepare_trials
from ..engine.encoder import Encoder, Networks
from ..engine.pretext_task import BatchRows, CorruptionSource
from ..networks import Columns
from ..networks.mlp import MLP
from ..options.axes import parts
from ..options.settings import LayerSettings, NetworkSettings
from ..pretexts import Rows
from ..randomness import Purpose, Roster, StackedGenerator, Streams

N_TABLE, N_BATCH, N_TRIALS, WIDTH = 60, 12, 3, 8
SEED = 20_261_126
"""Of all trials. A part that seeds a global generator by itself hardly takes the same."""
FIELDS = ("corruption", "selection", "loss")
"""The fields of parts that hold other parts, named after axes."""
USUAL = {"corruption": "marginal", "selection": "exact", "loss": "infonce", "pretext": "scarf"}


class OneTrial:
    """The training rows of one trial, without a trial axis: a `CorruptionSource` for tensors ``(N, M)``."""

    def __init__(self, source: CorruptionSource) -> None:
        self._source = source
        self.n_rows = source.n_rows
        self.columns = source.columns

    def kept(self, corruption: Corruption) -> Tensor | None:
        return self._source.kept(corruption)

    def cells(self, positions: Tensor) -> Tensor:
        return self._source.cells(positions[None])[0]

    def rows(self, positions: Tensor) -> Tensor:
        return self._source.rows(positions[None])[0]

    def encoded_rows(self, positions: Tensor) -> Tensor:
        return self._source.encoded_rows(positions[None])[0]

    def mean(self) -> Tensor:
        return self._source.mean()[0]

    def missing_values(self) -> Tensor:
        return self._source.missing_values()[0]

    def encode(self, raw: Tensor) -> Tensor:
        return self._source.encode(raw[None])[0]

    def bins(self, raw: Tensor, n_bins: int) -> Tensor:
        return self._source.bins(raw[None], n_bins)[0]


@dataclass(frozen=True)
class Sample:
    """A mini-batch from the beginning of the trials' streams: of several trials, or of the first one without an axis.

    Attributes:
        raw: the rows ``(..., N, M)``.
        rows: the same as pretexts and methods see them.
        source: the training rows.
        random: the streams.
        train: the row numbers of the training rows, ``(..., n)``.
    """

    raw: Tensor
    rows: Rows
    source: Any
    random: StackedGenerator
    train: Tensor

    @property
    def leading(self) -> tuple[int, ...]:
        """The leading axes ``...``."""
        return tuple(self.raw.shape[:-2])

    @property
    def trials(self) -> range:
        return range(self.leading[0] if self.leading else 1)

    def tensor(self, *shape: int, seed: int = 0) -> Tensor:
        """Standard normal numbers ``(..., *shape)``; those of the first trial are the same in any company."""
        drawn = StackedGenerator([SEED + seed + trial for trial in self.trials]).normal(*shape)
        found: Tensor = self.without_axis(drawn)
        return found

    def through(self, module: Any, x: Tensor) -> Any:
        """The outputs of a lifted module, or a tuple of them, for ``x`` ``(..., N, D)``."""
        if self.leading:
            return module(x)
        out = module(x[None])
        return tuple(each[0] for each in out) if isinstance(out, tuple) else out[0]

    def without_axis(self, stacked: Any) -> Any:
        """The first of ``stacked`` where there is no trial axis."""
        return stacked if self.leading else stacked[0]


@dataclass(frozen=True)
class Bench:
    """A table, and three trials of it.

    Attributes:
        title: what the table is, in sentences.
    """

    title: str
    table: Table
    _encoders: dict[int, Encoder] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def streams(self) -> Streams:
        return Streams(SEED, self.table.n_labelled)

    @cached_property
    def columns(self) -> Columns:
        return Columns.of(self.table.columns)

    @cached_property
    def column_names(self) -> dict[int, list[str]]:
        """The names of raw and of encoded columns, by how many there are."""
        raw = [column.name for column in self.table.columns]
        encoded = [raw[feature] for feature in self.columns.owners]
        return {len(encoded): encoded, len(raw): raw}

    def data(self, n_trials: int = N_TRIALS) -> TrialData:
        """The rows and the preprocessing of the first trials."""
        return prepare_trials(self.table, range(n_trials), self.streams, regime=Full(), scaling=ZScore(), fit_on="all")

    @cached_property
    def settings(self) -> NetworkSettings:
        layers = LayerSettings(width=WIDTH)
        return NetworkSettings(pretrain_head=layers, head=layers)

    def networks(self, network: Any = None) -> Networks:
        return Networks(self.columns, self.table.target.n_outputs, self.streams, network or MLP(WIDTH), self.settings)

    @cached_property
    def _parts(self) -> tuple[TrialData, DeviceTable]:
        data = self.data()
        return data, DeviceTable(self.table, data.preprocessing, device="cpu", dtype=torch.float32)

    def _encoder(self, n_trials: int) -> Encoder:
        """An encoder whose first layer encodes rows, the same for all parts."""
        if n_trials not in self._encoders:
            self._encoders[n_trials] = self.networks().encoder(range(n_trials), learns_missing_values=True)
        return self._encoders[n_trials]

    def sample(self, company: int | None = N_TRIALS) -> Sample:
        """A mini-batch of the first trials, so many; None gives the first one without a trial axis."""
        data, device_table = self._parts
        n_trials = company or 1
        train = torch.from_numpy(data.train[:n_trials])
        roster = Roster(n_trials)
        source: Any = CorruptionSource(self._encoder(n_trials), device_table, train, roster)
        batch = train[:, :N_BATCH]
        raw = device_table.rows(batch, roster)
        seeds = [self.streams.seed_of(trial, Purpose.CORRUPTION) for trial in range(n_trials)]
        random = StackedGenerator(seeds, leading=None if company else ())
        if company is None:
            source, raw, train = OneTrial(source), raw[0], train[0]
        return Sample(raw, BatchRows(raw, source, random), source, random, train)


@cache
def benches() -> tuple[Bench, ...]:
    """A table of numbers, and one with categories and gaps."""
    random = np.random.default_rng(SEED)
    labels = random.integers(3, size=N_TABLE)
    numbers = random.normal(size=(N_TABLE, 4)) + labels[:, None]
    plain = pd.DataFrame(numbers, columns=["a", "b", "c", "d"])
    mixed = plain[["a", "b"]].mask(random.random((N_TABLE, 2)) < 0.1)
    mixed["colour"] = np.array(["red", "green", "blue"])[random.integers(3, size=N_TABLE)]
    mixed["size"] = np.array(["small", "large"])[(labels + random.integers(2, size=N_TABLE)) % 2]
    mixed.loc[random.random(N_TABLE) < 0.1, "colour"] = None
    target = pd.Series(np.array(["x", "y", "z"])[labels], name="class")
    made = []
    for title, frame in (("a table of numbers", plain), ("a table with categories and gaps", mixed)):
        categorical = [not pd.api.types.is_numeric_dtype(column) for _, column in frame.items()]
        table = Table.from_frame(frame, target, categorical=categorical, name=title, source=title)
        made.append(Bench(title, table))
    return tuple(made)


def regression_bench(bench: Bench) -> Bench:
    """The same table with numbers in place of classes."""
    labels = bench.table.values[:, 0]
    known = np.where(np.isnan(labels), 0.0, labels)
    return Bench(bench.title, replace(bench.table, labels=known, target=Number("y")))


def made(cls: type[Any], **options: Any) -> Any:
    """A part with these options, and with usual parts in the fields that hold others."""
    types = get_type_hints(cls)
    chosen = {}
    for name in cls.__dataclass_fields__:
        if name in FIELDS:
            chosen[name] = _serving(name, types[name])()
        elif name == "pretext":
            chosen[name] = made(parts("pretrain")[USUAL[name]])
        elif name == "weight":
            chosen[name] = 1.0
    return cls(**chosen, **options)


def _serving(axis: str, kind: Any) -> Callable[[], Any]:
    """The usual part of an axis that is of this kind, or the first one."""
    known = parts(axis)
    serving = [each for each in known.values() if issubclass(each, kind)]
    usual = known.get(USUAL[axis])
    return usual if usual in serving or not serving else serving[0]  # type: ignore[return-value]
