"""The one way to open a model: `load_model` of a saved folder, or of a cell in the store in one of its phases."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from ..data.preprocessing import Preprocessing
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
from ..results.records import parsed
from ..results.store import DESCRIPTION
from ..screen import command_line
from .model import Model
from .saving import CONTENTS, check_imported, check_model, check_reader, read_model, save
from .trained_networks import OF_A_FILE, VECTORS, Description

Phase = Literal["finetune", "pretrain", "initial"]
FOLDER = "model"
OF_TRAINING_AGAIN = {"paths", "trainer", "cache"}
"""Options of a run that still matter when its cell is trained again."""


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
    """The model of one trial or more of a cell. The reader makes columns as they are encoded; without a target there
    are encoders alone."""
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
    return Model(description, Preprocessing(**vectors, is_shared=config.fit_on == "all"), weights, config)


@dataclass(frozen=True)
class OpenCell:
    """A cell of the store, whose configuration has been checked and whose plugins are imported."""

    folder: Path
    stored: StoredCell
    config: Config

    @property
    def data_hash(self) -> str:
        return str(self.stored.description["identity"].get("data"))

    def again(self, *options: str) -> str:
        """The command that trains the cell again: the one that asked for it, without what it does not use."""
        left_out = ({*OF_THE_RUN} - OF_TRAINING_AGAIN) | unused_options(self.config)
        asked = [each for each in self.stored.description["overrides"] if not is_in(each.partition("=")[0], left_out)]
        trials = f"trials={max(self.stored.trials['trial']) + 1}"
        return command_line("train.py", [*asked, trials, *options, "force=true"])


def open_cell(folder: Path, plugins: Collection[str]) -> OpenCell:
    """A cell of the store by its folder. What its files say is checked, and nothing is imported or looked up for it
    but the plugins that the caller names.

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
    target = target_from_plain(cell.stored.description) if phase == "finetune" else None
    config = replace(cell.config, trainer=replace(cell.config.trainer, precision=_precision(kept)))
    try:
        found = {"finetune": _finetuned, "pretrain": _pretrained, "initial": _initial}[phase](cell, kept)
        model = model_of(config, found, _reader(cell), target, cell.stored.description["dataset"])
        check_model(model)
    except UsageError:
        raise
    except (DamagedRecordError, KeyError, ValueError) as error:  # arrays that do not belong together
        raise UsageError(f"{folder} cannot be used: {error}.") from error
    return model


def _finetuned(cell: OpenCell, trials: list[StoredTrial]) -> list[StoredTrial]:
    name = cell.folder.name
    if why := why_no_model(cell.config):
        raise UsageError(f"Cell {name} has no model: {why}.")
    found = [kept for kept in trials if kept.weights]
    if not found and cell.config.tune:
        raise UsageError(
            f"Cell {name} has no model: with tune each trial has a network of its own shape. Train a cell with the "
            "options that tuning chose, which its trials list, and with keep_weights=true."
        )
    if not found:
        raise UsageError(
            f"Cell {name} has no model: the fine-tuned weights were not kept; `{cell.again('keep_weights=true')}` "
            "trains them again and keeps them."
        )
    return found


def _pretrained(cell: OpenCell, trials: list[StoredTrial]) -> list[StoredTrial]:
    name, config = cell.folder.name, cell.config
    if config.pretrain.name == "none":
        raise UsageError(f"Cell {name} is not pre-trained; it has phase=finetune and phase=initial alone.")
    trained_with = replace(config, trainer=replace(config.trainer, precision=_precision(trials)))
    identity = pretraining_identity(trained_with, cell.data_hash)
    cache = PretrainingStore(cell.folder.parent, identity, max_gb=1).load([kept.row["trial"] for kept in trials])
    for kept in trials:
        if kept.row["trial"] not in cache:
            raise UsageError(
                f"The pre-trained weights of trial {kept.row['trial']} of cell {name} are not in the cache; "
                f"`{cell.again()}` trains them again."
            )

    def of_encoder(trial: int) -> dict[str, Any]:
        return {name: weight for name, weight in cache[trial].weights.items() if name.startswith("encoder.")}

    return [replace(kept, weights=of_encoder(kept.row["trial"])) for kept in trials]


def _initial(cell: OpenCell, trials: list[StoredTrial]) -> list[StoredTrial]:
    config = cell.config
    if "network" not in method_of(config).uses:
        name = cell.folder.name
        raise UsageError(f"Cell {name} has no encoder: method={config.method['name']} trains no network.")
    numbers = tuple(kept.row["trial"] for kept in trials)
    described = model_of(config, [replace(kept, weights={}) for kept in trials], _reader(cell), None, "").description
    networks = replace(described.networks(Streams(config.seed, cell.data_hash)), settings=config.network)
    encoder = networks.encoder(numbers).to(DTYPES[_precision(trials)])
    weights = {f"encoder.{name}": weight.detach().numpy() for name, weight in encoder.state_dict().items()}
    rows, vectors = [kept.row for kept in trials], [kept.preprocessing for kept in trials]
    return StoredTrial.of_stack(rows, {name: np.stack([each[name] for each in vectors]) for name in VECTORS}, weights)


def _precision(trials: Sequence[StoredTrial]) -> Any:
    """The precision of training: a cell's trials may have been trained on several machines, but in one precision."""
    precision = trials[0].row.get("precision")
    if precision not in DTYPES:
        raise UsageError(f"The precision of trial {trials[0].row['trial']} is unknown: its record cannot be used.")
    return precision


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
