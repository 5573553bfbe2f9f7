"""`Model`: the trained networks of T trials, to predict, to embed and to save. It needs no store and no training data.

A saved model is a folder:

    model.json                  what the model is and how it reads rows; sizes and hashes of all files
    weights.safetensors         of f and h by name, (T, ...)
    preprocessing.safetensors   fill, shift and scale, (T, M)

Nothing in the folder is code, and `opening.read_model` trusts nothing that it says: names, types, sizes, ranges and
shapes are checked before anything is built.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..data.columns import Column
from ..data.preprocessing import Preprocessing
from ..data.reading import Reader
from ..data.reading.frames import frame_of
from ..data.targets import Classes, Target, target_from_plain
from ..engine.encoder import Classifier, Encoder, Networks
from ..engine.hardware import DTYPES, own_torch
from ..engine.lifting import load_state, part_of
from ..errors import UsageError
from ..networks import Columns
from ..options import Config, build
from ..options.settings import LayerSettings, NetworkSettings, expanded
from ..randomness import Streams
from ..results import StoredTrial
from ..results.records import OF_FOLD, WEIGHTS, DamagedRecordError, as_safetensors, read_record, temporary, write_record

ROWS_AT_ONCE = 1024
CONTENTS = "model.json"
PREPROCESSING = "preprocessing.safetensors"
KIND = "scarf-lightning model"
LAYOUT = 6
"""Version of the description's layout."""
Floats = NDArray[np.float64]
Weights = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class Description:
    """Description of trained networks in plain values, as a file keeps it beside their arrays.

    Attributes:
        name: of the data.
        rules: how rows are read, as `Reader.plain_rules` gives it.
        columns: the features that the rules make.
        classes: in the order of the networks' outputs; empty for numbers and for encoders alone.
        is_shared: whether preprocessing was fitted on the whole table, see `Preprocessing`.
        network: the name of f.
        encoder: the options of f.
        head: the layers of h.
        trials: the number of each network's trial. A trial may have several, of which the last one embeds.
        precision: the precision of training.
        plugins: modules that define the network.
        target: the target without its classes, as a record keeps it; empty for encoders alone.
        inputs: the columns of the table that `fit` was given, in their order; empty if they are not known.
        is_named: the columns had names then, and rows are read by name. Columns of an array have the names x0, x1, ...

    Raises:
        ValueError: a value is not possible.
    """

    name: str
    rules: tuple[dict[str, Any], ...]
    columns: tuple[Column, ...]
    classes: tuple[str, ...]
    is_shared: bool
    network: str
    encoder: dict[str, Any]
    head: LayerSettings
    trials: tuple[int, ...]
    precision: str
    plugins: tuple[str, ...]
    target: dict[str, Any] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    is_named: bool = True

    def __post_init__(self) -> None:
        # One class is always certain, and two columns of one name cannot be distinguished.
        if len(self.classes) == 1 or len(set(self.classes)) < len(self.classes):
            raise ValueError("classes must be two different ones at least, or none")
        for column in self.columns:
            if not 0 <= column.n_indicators <= len(column.categories or ()):
                raise ValueError(f"columns: {column.name[:40]!r} cannot have {column.n_indicators} indicators")
        if not self.trials or min(self.trials) < 0:
            raise ValueError("trials must be numbers from 0")
        if self.precision not in DTYPES:
            raise ValueError(f"precision must be one of {', '.join(DTYPES)}")

    @cached_property
    def predicts(self) -> Target | None:
        """The target; None for encoders alone."""
        if not self.classes and not self.target:
            return None
        return target_from_plain({"classes": self.classes, "target": self.target})

    @cached_property
    def reader(self) -> Reader:
        """Reads new rows as the table was read."""
        return Reader.with_rules(self.rules, self.columns)

    @cached_property
    def networks(self) -> Networks:
        """Builds f and h."""
        network = build("network", {"name": self.network} | self.encoder, "network.encoder")
        settings = NetworkSettings(name=self.network, encoder=self.encoder, head=self.head)
        # Encoders alone have no head, whose width this is.
        n_outputs = 0 if self.predicts is None else self.predicts.n_outputs
        # The trained weights take the place of the initial ones.
        return Networks(Columns.of(self.columns), n_outputs, Streams(0, 0), network, settings)


@dataclass(eq=False)
class Model:
    """The networks of trials, which vote: a number, or the probability of a class, is the mean of what they give.
    T networks are as many trials, or more where those of folds vote too.

    Rows are a table of any library, such as a frame of pandas or polars or an Arrow table, or an array with the columns
    of `fit`. `Reader` says how they are read, and what happens to gaps, unseen categories and missing columns. Missing
    values are imputed by the column's mode or mean, as each trial did in training.

    Methods raise a UsageError for rows that `Reader` refuses, and if the model lacks what they need.

    Attributes:
        description: what the networks are.
        preprocessing: of the T networks.
        weights: arrays of f and h by name, ``(T, ...)`` each.
    """

    description: Description
    preprocessing: Preprocessing
    weights: Weights

    def predict(self, rows: Any) -> NDArray[Any]:
        """The most probable class of n rows in the type of its label, the first one of a tie, or their number;
        ``(n,)``."""
        if self.description.classes:
            return np.asarray(self.classes_[self.predict_proba(rows).argmax(axis=1)])
        return self._mean(rows)

    def predict_proba(self, rows: Any) -> Floats:
        """Probabilities of the classes in the order of ``classes_``, float64 ``(n, C)``."""
        if not self.description.classes:
            raise UsageError("This model has no classes, and so no probabilities; use predict or transform.")
        _, order = self._sorted_classes
        return self._mean(rows)[:, order]

    def transform(self, rows: Any) -> NDArray[np.float32]:
        """Embeddings of the trials side by side, each of its last network: float32 ``(n, trials * E)``."""
        last_networks = list({trial: place for place, trial in enumerate(self.description.trials)}.values())
        embeddings = self._outputs(self.encoder, self.values(rows))[last_networks]
        return np.asarray(embeddings.movedim(0, 1).flatten(1).numpy(), dtype=np.float32)

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the model into a folder of its own: arrays as safetensors, all else as JSON.

        `load_model` opens the folder anywhere, without the training data. A model that is there is replaced, whole or
        not at all.

        Raises:
            UsageError: the folder is a link, holds a file that is not part of a model, or cannot be written.
        """
        place = expanded(folder)
        description = {"version": LAYOUT} | asdict(self.description)
        files = {WEIGHTS: as_safetensors(self.weights), PREPROCESSING: as_safetensors(self.preprocessing.arrays())}
        try:
            is_replaced = _is_replaced(place)
            # Written beside its place and then renamed, so a reader finds the old model or the new one, and never half
            # of one.
            with temporary(place) as new_folder:
                write_record(new_folder, CONTENTS, KIND, {"model": description}, files)
                if is_replaced:
                    _replace(place, new_folder)
                else:
                    new_folder.rename(place)
        except OSError as error:
            raise UsageError(f"{place} cannot be written: {error.strerror or error}.") from error

    @property
    def trials(self) -> list[int]:
        """The numbers of the trials."""
        return list(dict.fromkeys(self.description.trials))

    @property
    def target(self) -> Target:
        """The target. Encoders alone predict nothing and raise a UsageError."""
        if self.description.predicts is None:
            raise UsageError("This model has encoders alone, which predict nothing; use transform.")
        return self.description.predicts

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes in the type of the labels that they were learned from, sorted: the order of the probabilities'
        columns, ``(C,)``; empty if there are none."""
        return self._sorted_classes[0]

    @property
    def dtype(self) -> torch.dtype:
        """Of parameters and inputs."""
        return DTYPES[self.description.precision]

    def values(self, rows: Any) -> Floats:
        """Rows as numbers ``(n, M)``: codes of categories, NaN where missing.

        Args:
            rows: a table of any library, read by the names of its columns; or, if `fit` is known to have had as many
                columns, an array ``(n, n_columns)``.

        Raises:
            UsageError: see `Reader`, or the rows have another number of columns.
        """
        reader, inputs = self.description.reader, self.description.inputs
        frame = frame_of(rows)
        if frame is None:
            return reader.values(self._frame_of_array(rows))
        # Names mean nothing to a model that was trained on an array.
        is_of_array = not self.description.is_named and len(inputs) == frame.shape[1]
        if is_of_array and not set(frame.columns).issuperset(reader.names):
            frame = frame.set_axis(list(inputs), axis=1)
        return reader.values(frame)

    def predictions(self, values: Floats) -> Floats:
        """The predictions of each network for values ``(n, M)``: probabilities ``(T, n, C)`` or numbers ``(T, n)``."""
        # A copy: torch warns of arrays that cannot be written to.
        target_vector = torch.from_numpy(np.array(self.preprocessing.target))
        return self.target.predictions(self._outputs(self.classifier, values).double(), target_vector).numpy()

    @cached_property
    @own_torch()
    def encoder(self) -> Encoder:
        """f of the T networks, in evaluation mode."""
        weights = self._part("encoder")
        learns = "missing" in weights
        encoder = self.description.networks.encoder(self.description.trials, weights, learns_missing_values=learns)
        # Pre-training learned these values; they are no weights of f.
        if encoder.missing is not None:
            encoder.missing.data = weights["missing"]
        return encoder.requires_grad_(False).eval()

    @cached_property
    @own_torch()
    def classifier(self) -> Classifier:
        """h after f of the T networks, in evaluation mode. Raises UsageError for encoders alone."""
        _ = self.target
        head = self.description.networks.head(self.description.trials)
        load_state(head, self._part("head"))
        return Classifier(self.encoder, head).requires_grad_(False).eval()

    @cached_property
    def _sorted_classes(self) -> tuple[NDArray[Any], list[int]]:
        """The classes in their order, and their places among the outputs."""
        target = self.description.predicts
        if not isinstance(target, Classes):
            return np.empty(0), []
        # Sorted by their values in their own type: as texts, 10 would come before 9.
        classes, order = np.unique(target.answers, return_index=True)
        return classes, order.tolist()

    def _frame_of_array(self, rows: Any) -> pd.DataFrame:
        """An array ``(n, n_columns)`` as a frame with the columns of `fit`."""
        array, inputs = np.asarray(rows), self.description.inputs
        # A cell of a file knows its columns by name alone.
        if not inputs or array.ndim != 2 or array.shape[1] != len(inputs):
            other = f", or an array (n, {len(inputs)})" if inputs else ""
            raise UsageError(
                f"The rows must be a table with the names of columns{other}, and not of the shape {array.shape}."
            )
        return pd.DataFrame(array, columns=list(inputs))

    def _mean(self, rows: Any) -> Floats:
        """The mean prediction of the networks: probabilities ``(n, C)`` in the order of their outputs, or numbers
        ``(n,)``."""
        return np.asarray(self.predictions(self.values(rows)).mean(axis=0))

    @own_torch()
    @torch.no_grad()
    def _outputs(self, network: nn.Module, values: Floats) -> Tensor:
        """The outputs of a stack of T networks for values ``(n, M)``: ``(T, n, ...)``."""
        outputs = []
        for start in range(0, max(1, len(values)), ROWS_AT_ONCE):
            rows = values[start : start + ROWS_AT_ONCE]
            inputs = np.stack([self.preprocessing.apply(rows, place) for place in range(len(self.description.trials))])
            outputs.append(network(torch.from_numpy(inputs).to(self.dtype)))
        all_outputs = torch.cat(outputs, dim=1)
        if not all_outputs.isfinite().all():
            raise UsageError("The networks give no numbers for these rows: weights or values are too large.")
        return all_outputs

    def _part(self, prefix: str) -> dict[str, Tensor]:
        """The weights of f or of h, by their names in it."""
        weights = part_of(self.weights, prefix)
        return {name: torch.from_numpy(np.array(weight)).to(self.dtype) for name, weight in weights.items()}

    def __getstate__(self) -> dict[str, Any]:
        """The arrays and plain values, without the networks that were built of them."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def why_no_model(config: Config) -> str | None:
    """The reason why a cell's networks cannot be carried away, or None if they can."""
    method = config.part("method")
    if "finetune" not in method.uses:
        return f"method={method.name} trains no network of ours"
    if not method.has_encoder:
        return f"the networks of method={method.name} vote, and only one of them is kept"
    return None


def model_of(config: Config, trials: Sequence[StoredTrial], reader: Reader, target: Target | None, name: str) -> Model:
    """The model of trials of a cell.

    Args:
        reader: makes columns as they are encoded.
        target: what the networks predict; None means encoders alone.
        name: of the data.
    """
    # A plugin is needed again only if it made the network; its corruption is no part of the model.
    module = config.part("network").__module__
    is_ours = module.partition(".")[0] == __name__.partition(".")[0]
    networks = [(trial, weights) for trial in trials for weights in _voters(trial.weights)]
    plain: Mapping[str, Any] = {"classes": (), "target": {}} if target is None else target.plain()
    description = Description(
        name=name,
        rules=tuple(reader.plain_rules),
        columns=reader.columns,
        classes=tuple(plain["classes"]),
        network=config.network.name,
        encoder=config.network.encoder,
        head=config.network.head,
        trials=tuple(trial.row["trial"] for trial, _ in networks),
        is_shared=config.fit_on == "all",
        precision=config.trainer.precision,
        plugins=() if is_ours else tuple(config.plugins),
        target=plain["target"],
    )
    # Encoders alone need nothing that was fitted to labels.
    vectors = {
        vector: np.stack([trial.preprocessing[vector] for trial, _ in networks])
        for vector in trials[0].preprocessing
        if vector != "target" or target is not None
    }
    # All networks of a cell have one shape, so their arrays are stacked.
    weights = {name: np.stack([each[name] for _, each in networks]) for name in networks[0][1]}
    preprocessing = Preprocessing.from_arrays(vectors, is_shared=description.is_shared)
    return Model(description, preprocessing, weights)


def _voters(weights: Weights) -> list[Weights]:
    """The weights of a trial's networks: those of its folds, if they are kept, and its own."""
    folds = dict.fromkeys(name.partition(".")[0] for name in weights if name.startswith(OF_FOLD))
    trial_weights = {name: weight for name, weight in weights.items() if not name.startswith(OF_FOLD)}
    return [*(part_of(weights, fold) for fold in folds), trial_weights]


def _is_replaced(folder: Path) -> bool:
    """True if there is such a folder, which may be replaced: it is empty or a model's."""
    # Renaming would replace the link, and leave what it leads to as it is.
    if folder.is_symlink():
        raise UsageError(f"{folder} is a link; name the folder that it leads to, or another one.")
    if not folder.exists():
        return False
    names = sorted(path.name for path in folder.iterdir())
    try:
        files = {CONTENTS, *read_record(folder, CONTENTS, KIND)["files"]} if names else set()
    except (DamagedRecordError, FileNotFoundError):
        files = set()
    # A slip, such as a home folder, must not cost files that are no model's.
    if foreign_names := [name for name in names if name not in files]:
        raise UsageError(
            f"{folder} holds {foreign_names[0]}, which is not part of a model; name an empty or a new folder."
        )
    return True


def _replace(folder: Path, new_folder: Path) -> None:
    """Put a new folder in the place of a model's. The old one comes back if that fails."""
    with temporary(folder) as old_folder:
        try:
            folder.rename(old_folder)
            new_folder.rename(folder)
        except BaseException:
            if old_folder.exists():
                old_folder.rename(folder)
            raise
