"""`Model`: trained networks to predict with, embed with, look into, save and export; and `load_model`, which opens one.

A model is a saved folder, or a cell in the store in one of its phases.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..data.preprocessing import VECTORS, Preprocessing
from ..data.reading import Reader
from ..data.table import Column
from ..data.targets import Target, target_from_plain
from ..engine.hardware import DTYPES
from ..errors import UsageError
from ..options import Config, build, load_plugins, part, read, unused_options
from ..options.axes import OF_THE_RUN
from ..options.combinations import encoding_of, is_in, method_of
from ..randomness import Streams
from ..results import (
    DamagedRecordError,
    PretrainingStore,
    StoredCell,
    StoredTrial,
    load_cell,
    load_trials,
    pretraining_identity,
)
from ..results.identity import SCIENCE_VERSION
from ..results.records import parsed
from ..results.store import DESCRIPTION
from ..screen import command_line
from .onnx import to_onnx
from .saving import CONTENTS, check_imported, check_reader, read_model, save
from .trained_networks import OF_A_FILE, Description, Floats, TrainedNetworks

if TYPE_CHECKING:
    import pandas as pd

Phase = Literal["finetune", "pretrain", "initial"]
FOLDER = "model"
OF_TRAINING_AGAIN = {"paths", "trainer", "cache"}
"""Options of a run that still matter when its cell is trained again."""


class Model(TrainedNetworks):
    """The networks of T trials, which vote: a number, or the probability of a class, is the mean of what they give.

    `Reader` says how rows are read, and what happens to gaps, unseen categories and missing columns. Missing values are
    imputed by the column's mode or mean, as each trial did in training.

    Methods raise a UsageError for rows that `Reader` refuses, and if the model lacks what they need.
    """

    @property
    def classes(self) -> list[str]:
        """The classes in the order of the probabilities' columns."""
        return list(self.description.classes)

    @property
    def trials(self) -> list[int]:
        """The numbers of the trials."""
        return list(self.description.trials)

    def predict(self, rows: "pd.DataFrame") -> NDArray[Any]:
        """The most probable class of n rows, the first one of a tie, or their number; ``(n,)``."""
        return self.target.decided(self.predicted(rows))

    def predict_proba(self, rows: "pd.DataFrame") -> Floats:
        """Probabilities of the classes, float64 ``(n, C)``."""
        if not self.classes:
            raise UsageError("This model has no classes, and so no probabilities; use predict or transform.")
        return self.predicted(rows)

    def predicted(self, rows: "pd.DataFrame") -> Floats:
        """What the networks predict on average: probabilities ``(n, C)``, or numbers ``(n,)``."""
        return np.asarray(self.predictions(self.values(rows)).mean(axis=0))

    def transform(self, rows: "pd.DataFrame") -> NDArray[np.float32]:
        """Embeddings of the T networks side by side, float32 ``(n, T * E)``."""
        embedded = self.in_chunks(self.encoder, self.values(rows))
        return np.asarray(embedded.movedim(0, 1).flatten(1).numpy(), dtype=np.float32)

    def save(self, folder: str | Path) -> None:
        """Write the model into a folder of its own: arrays as safetensors, all else as JSON.

        `load_model` opens the folder anywhere, without the training data. A model that is there is replaced, whole or
        not at all.

        Raises:
            UsageError: the folder is a link, holds a file that is not part of a model, or cannot be written.
        """
        save(self, Path(folder))

    def to_onnx(self, file: str | Path) -> None:
        """Write the model as an ONNX file; see `scarf_lightning.estimators.onnx` for its inputs and outputs."""
        to_onnx(self, Path(file))

    def only(self, trial: int) -> "Model":
        """The network of one trial alone."""
        if trial not in self.trials:
            raise UsageError(f"The model has no trial {trial}; it has: {', '.join(map(str, self.trials))}.")
        position = self.trials.index(trial)
        weights = {name: weight[position : position + 1] for name, weight in self.weights.items()}
        description = replace(self.description, trials=(trial,))
        return Model(description, self.preprocessing.of(position), weights, self.config)


def load_model(
    path: str | Path, plugins: Collection[str] = (), *, trial: int | None = None, phase: Phase | None = None
) -> Model:
    """Open a model. Neither the training data nor the computer that trained it is needed.

    Args:
        path: a folder that `Model.save`, an estimator or ``keep_weights=true`` has written; or a cell's folder in the
            store, ``results/FINGERPRINT``; or a folder of results with one cell.
        plugins: modules to import first, if the model or the cell uses parts of your own. Importing a module runs it,
            so a module that only a file names is not imported.
        trial: the number of one trial, for its network alone; None takes all that did not diverge.
        phase: of a cell, when to look at its networks: ``finetune``, the end of training, with classes, which needs
            ``keep_weights=true``; ``pretrain``, the encoders as pre-training left them, as long as the cache has them;
            or ``initial``, the encoders before training. None is ``finetune``.

    Raises:
        UsageError: there is no such model, cell, trial or phase; something is damaged or of another version; weights
            were not kept, with the command that trains them again; or a plugin is needed that is not named.
    """
    folder = Path(path)
    if phase not in (None, *get_args(Phase)):
        raise UsageError(f"phase={phase} is unknown; the phases are: {', '.join(get_args(Phase))}.")
    if (folder / CONTENTS).exists():
        if phase is not None:
            raise UsageError(f"{folder} is a saved model, which has one phase: name a cell's folder.")
        found = read_model(folder, plugins)
        model = Model(found.description, found.preprocessing, found.weights)
        return model if trial is None else model.only(trial)
    return _model_of_cell(_one_cell(folder), plugins, trial, phase or "finetune")


def save_model(config: Config, cell: Path) -> None:
    """Write the model of a cell in the store beside its results, in ``<cell>/model``, if it has one."""
    if why_no_model(config) is None and any(kept.weights for kept in load_trials(cell.name, cell.parent)):
        save(_model_of_cell(cell, config.plugins, None, "finetune"), cell / FOLDER)


def why_no_model(config: Config) -> str | None:
    """Why a cell's networks cannot be carried away, or None if they can."""
    method = method_of(config)
    if "finetune" not in method.uses:
        return f"method={method.name} trains no network of ours"
    if not method.has_encoder:
        return f"the networks of method={method.name} vote, and only one of them is kept"
    return None


def model_of(config: Config, trials: Sequence[StoredTrial], reader: Reader, target: Target | None, name: str) -> Model:
    """The model of trials of a cell. The reader makes columns as they are encoded. No target means encoders alone."""
    network = part("network", config.network.name)
    ours = __name__.partition(".")[0]
    is_ours = all(each.__module__.partition(".")[0] == ours for each in (network, type(target or config)))
    plain = {"classes": (), "target": {}} if target is None else target.plain()
    description = Description(
        name=name,
        rules=tuple(reader.plain_rules),
        columns=reader.columns,
        classes=tuple(plain["classes"]),
        network=config.network.name,
        encoder=config.network.encoder,
        head=config.network.head,
        trials=tuple(kept.row["trial"] for kept in trials),
        is_shared=config.fit_on == "all",
        precision=config.trainer.precision,
        file={option: getattr(config.dataset, option) for option in OF_A_FILE},
        plugins=() if is_ours else tuple(config.plugins),
        target=plain["target"],
    )
    names = [name for name in trials[0].preprocessing if name in VECTORS or target is not None]
    vectors = {name: np.stack([kept.preprocessing[name] for kept in trials]) for name in names}
    weights = {name: np.stack([kept.weights[name] for kept in trials]) for name in trials[0].weights}
    return Model(description, Preprocessing.from_arrays(vectors, is_shared=description.is_shared), weights, config)


@dataclass(frozen=True)
class OpenCell:
    """A cell of the store, whose configuration has been checked and whose plugins are imported."""

    folder: Path
    stored: StoredCell
    config: Config

    @property
    def data_hash(self) -> str:
        return str(self.stored.description["identity"].get("data"))

    def streams(self, n_labelled: int) -> Streams:
        """The random streams that it was trained with, on a table with so many labels.

        Raises:
            UsageError: another version of the package trained it, from other streams.
        """
        science = self.stored.description["identity"].get("science")
        if science != SCIENCE_VERSION:
            raise UsageError(
                f"Cell {self.folder.name} was trained by an earlier version of this package, which split rows and drew "
                f"initial weights otherwise; `{self.again()}` trains it again."
            )
        return Streams(self.config.seed, n_labelled)

    def again(self, *options: str) -> str:
        """The command that trains the cell again: the one that asked for it, without what it does not use."""
        left_out = ({*OF_THE_RUN} - OF_TRAINING_AGAIN) | unused_options(self.config)
        asked = [each for each in self.stored.description["overrides"] if not is_in(each.partition("=")[0], left_out)]
        trials = f"trials={max(self.stored.trials['trial']) + 1}"
        return command_line("train.py", [*asked, trials, *options, "force=true"])


def open_cell(folder: Path, plugins: Collection[str]) -> OpenCell:
    """A cell of the store by its folder. Its files are checked, and only the named plugins are imported.

    Raises:
        UsageError: there is no such cell, it is damaged, or it needs a plugin that is not named.
    """
    load_plugins(list(plugins))
    stored = load_cell(folder.name, folder.parent)
    try:
        for name, kind in (("overrides", list[str]), ("classes", list[str]), ("reading", dict[str, Any])):
            parsed(kind, stored.description.get(name, {}), name)
        needed = parsed(list[str], stored.config.get("plugins", []), "plugins")
    except DamagedRecordError as error:
        raise UsageError(f"{folder} cannot be used: {error}.") from error
    check_imported(needed, plugins, f"Cell {folder.name}")
    return OpenCell(folder, stored, read(stored.config))


def _one_cell(folder: Path) -> Path:
    if (folder / DESCRIPTION).exists():
        return folder.resolve()
    cells = sorted(path.parent for path in folder.glob(f"*/{DESCRIPTION}"))
    if len(cells) == 1:
        return cells[0]
    if cells:
        raise UsageError(f"{folder} holds {len(cells)} cells; name the folder of one, as {cells[0]}.")
    missing = f"it has no {CONTENTS}" if folder.is_dir() else "there is no such folder"
    raise UsageError(f"{folder} is no model: {missing}; a cell trained with keep_weights=true has one.")


def _model_of_cell(folder: Path, plugins: Collection[str], trial: int | None, phase: Phase) -> Model:
    cell = open_cell(folder, plugins)
    every = [each for each in load_trials(folder.name, folder.parent) if each.row.get("diverged") is None]
    kept = [each for each in every if trial in (None, each.row["trial"])]
    if not kept:
        numbers = ", ".join(str(each.row["trial"]) for each in every) or "none"
        asked = "" if trial is None else f" {trial}"
        raise UsageError(f"Cell {folder.name} has no finished trial{asked}; it has: {numbers}.")
    # The trials of a cell may have been trained on several machines, but in one precision.
    precision: Any = kept[0].row.get("precision")
    if precision not in DTYPES:
        raise UsageError(f"The precision of trial {kept[0].row['trial']} is unknown: its record cannot be used.")
    cell = replace(cell, config=replace(cell.config, trainer=replace(cell.config.trainer, precision=precision)))
    target = target_from_plain(cell.stored.description) if phase == "finetune" else None
    try:
        found = {"finetune": _finetuned, "pretrain": _pretrained, "initial": _initial}[phase](cell, kept)
        model = model_of(cell.config, found, _reader(cell), target, cell.stored.description["dataset"])
        model.check()
    except UsageError:
        raise
    except (DamagedRecordError, KeyError, ValueError) as error:  # arrays that do not belong together
        raise UsageError(f"{folder} cannot be used: {error}.") from error
    return model


def _finetuned(cell: OpenCell, trials: list[StoredTrial]) -> list[StoredTrial]:
    why, found = why_no_model(cell.config), [kept for kept in trials if kept.weights]
    if not (why or found) and cell.config.tune:
        why = (
            "with tune each trial has a network of its own shape. Train a cell with the options that tuning chose, "
            "which its trials list, and with keep_weights=true"
        )
    elif not (why or found):
        command = cell.again("keep_weights=true")
        why = f"the fine-tuned weights were not kept; `{command}` trains them again and keeps them"
    if why:
        raise UsageError(f"Cell {cell.folder.name} has no model: {why}.")
    return found


def _pretrained(cell: OpenCell, trials: list[StoredTrial]) -> list[StoredTrial]:
    name, config = cell.folder.name, cell.config
    if config.pretrain.name == "none":
        raise UsageError(f"Cell {name} is not pre-trained; it has phase=finetune and phase=initial alone.")
    identity = pretraining_identity(config, cell.data_hash)
    cache = PretrainingStore(cell.folder.parent, identity, max_gb=1).load([kept.row["trial"] for kept in trials])
    found = []
    for kept in trials:
        trial = kept.row["trial"]
        if trial not in cache:
            raise UsageError(
                f"The pre-trained weights of trial {trial} of cell {name} are not in the cache; `{cell.again()}` "
                "trains them again."
            )
        weights = {name: weight for name, weight in cache[trial].weights.items() if name.startswith("encoder.")}
        found.append(replace(kept, weights=weights))
    return found


def _initial(cell: OpenCell, trials: list[StoredTrial]) -> list[StoredTrial]:
    config = cell.config
    if "network" not in method_of(config).uses:
        raise UsageError(f"Cell {cell.folder.name} has no encoder: method={config.method['name']} trains no network.")
    untrained = model_of(config, [replace(kept, weights={}) for kept in trials], _reader(cell), None, "")
    n_labelled = parsed(int, cell.stored.description["reading"]["n_labelled"], "reading.n_labelled")
    networks = replace(untrained.description.networks(cell.streams(n_labelled)), settings=config.network)
    encoder = networks.encoder(untrained.trials).to(untrained.dtype)
    weights = {f"encoder.{name}": weight.detach().numpy() for name, weight in encoder.state_dict().items()}
    return StoredTrial.of_stack([kept.row for kept in trials], untrained.preprocessing.arrays(), weights)


def _reader(cell: OpenCell) -> Reader:
    """The reader of a cell's table, with its columns as they are encoded. Only a user's file has rules of reading."""
    described = cell.stored.description
    encoding = build("encoding", encoding_of(cell.config))
    columns = encoding.columns([Column.from_plain(each) for each in described["columns"]])
    rules = described.get("reading", {}).get("rules")
    if not rules:
        return Reader.plain(columns)
    check_reader(rules, tuple(columns))
    return Reader.with_rules(rules, columns)
