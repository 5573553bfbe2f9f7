"""The model of a cell in the store, in one of its phases."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ..data.reading import Reader
from ..data.table import Column
from ..data.targets import target_from_plain
from ..engine.hardware import DTYPES
from ..errors import UsageError, unknown_name
from ..options import Config, build, load_plugins, read, unused_options
from ..options.axes import OF_THE_RUN
from ..options.combinations import is_in
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
from .checks import check_arrays, check_imported, check_reader
from .model import Model, model_of, why_no_model
from .saving import CONTENTS

Phase = Literal["finetune", "pretrain", "initial"]
OF_TRAINING_AGAIN = {"paths", "trainer", "cache"}
"""Options of a run that still matter when its cell is trained again."""


@dataclass(frozen=True)
class OpenCell:
    """A cell of the store, whose configuration has been checked and whose plugins are imported."""

    folder: Path
    stored: StoredCell
    config: Config

    @property
    def data_hash(self) -> str:
        """The hash of the table that the cell was trained on."""
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
        asked = []
        for override in self.stored.description["overrides"]:
            if not is_in(override.partition("=")[0], left_out):
                asked.append(override)
        # As many as the cell has: a later run may have added some to those that were asked for first.
        trials = f"trials={max(self.stored.trials['trial']) + 1}"
        return command_line("train.py", [*asked, trials, *options, "force=true"])


def open_cell(folder: Path, plugins: Collection[str]) -> OpenCell:
    """A cell of the store by its folder. Its files are checked, and only the named plugins are imported.

    Raises:
        UsageError: there is no such cell, it is damaged, it needs a plugin that is not named, or an option of it is
            not one of this version.
    """
    load_plugins(list(plugins))
    stored = load_cell(folder.name, folder.parent)
    kinds = {"overrides": list[str], "classes": list[str], "reading": dict[str, Any]}
    try:
        for name, kind in kinds.items():
            parsed(kind, stored.description.get(name, {}), name)
        needed = parsed(list[str], stored.config.get("plugins", []), "plugins")
    except DamagedRecordError as error:
        raise UsageError(f"{folder} cannot be used: {error}.") from error
    check_imported(needed, plugins, f"Cell {folder.name}")
    return OpenCell(folder, stored, read(stored.config))


def one_cell(folder: Path) -> Path:
    """The folder of a cell: this one, or the only one in it.

    Raises:
        UsageError: it holds none, or several.
    """
    if (folder / DESCRIPTION).exists():
        return folder.resolve()
    cells = sorted(path.parent for path in folder.glob(f"*/{DESCRIPTION}"))
    if len(cells) == 1:
        return cells[0]
    if cells:
        raise UsageError(f"{folder} holds {len(cells)} cells; name the folder of one, as {cells[0]}.")
    missing = f"it has no {CONTENTS}" if folder.is_dir() else "there is no such folder"
    raise UsageError(f"{folder} is no model: {missing}.")


def model_of_cell(folder: Path, plugins: Collection[str], trial: int | None, phase: Phase) -> Model:
    """The model of a cell's trials, or of one of them, in a phase; the arguments are as of `load_model`."""
    cell = open_cell(folder, plugins)
    # A trial that diverged has no weights.
    every = [each for each in load_trials(folder.name, folder.parent) if each.row.get("diverged") is None]
    kept = [each for each in every if trial in (None, each.row["trial"])]
    if not kept:
        numbers = [str(each.row["trial"]) for each in every]
        asked = "" if trial is None else f" {trial}"
        fault = f"Cell {folder.name} has no finished trial{asked}"
        raise UsageError(unknown_name(fault, asked, numbers, "its finished trials", hint=""))
    # The trials of a cell may have been trained on several machines, but in one precision.
    precision: Any = kept[0].row.get("precision")
    if precision not in DTYPES:
        raise UsageError(f"The precision of trial {kept[0].row['trial']} is unknown: its record cannot be used.")
    trainer = replace(cell.config.trainer, precision=precision)
    cell = replace(cell, config=replace(cell.config, trainer=trainer))
    target = target_from_plain(cell.stored.description) if phase == "finetune" else None
    trials_with_weights = {"finetune": _finetuned, "pretrain": _pretrained, "initial": _initial}[phase]
    try:
        phase_trials = trials_with_weights(cell, kept)
        model = model_of(cell.config, phase_trials, _reader(cell), target, cell.stored.description["dataset"])
        check_arrays(model)
    except UsageError:
        raise
    except (DamagedRecordError, KeyError, ValueError) as error:
        # Arrays that do not belong together.
        raise UsageError(f"{folder} cannot be used: {error}.") from error
    return model


def _finetuned(cell: OpenCell, trials: list[StoredTrial]) -> list[StoredTrial]:
    """The trials with the weights at the end of training."""
    why = why_no_model(cell.config)
    loadable = [kept for kept in trials if kept.weights]
    if why is None and not loadable:
        if cell.config.tune:
            why = (
                "with tune each trial has a network of its own shape. Train a cell with the options that tuning chose, "
                "which its trials list, and with keep_weights=true"
            )
        else:
            command = cell.again("keep_weights=true")
            why = f"the fine-tuned weights were not kept; `{command}` trains them again and keeps them"
    if why is not None:
        raise UsageError(f"Cell {cell.folder.name} has no model: {why}.")
    return loadable


def _pretrained(cell: OpenCell, trials: list[StoredTrial]) -> list[StoredTrial]:
    """The trials with the encoders as pre-training left them."""
    name, config = cell.folder.name, cell.config
    if not config.is_pretrained:
        raise UsageError(f"Cell {name} is not pre-trained; it has phase=finetune and phase=initial alone.")
    # Cells with the same pre-training share it in the cache, so it is found by its own identity.
    identity = pretraining_identity(config, cell.data_hash)
    # Nothing is added to the store here, so its limit does not matter.
    store = PretrainingStore(cell.folder.parent, identity, max_gb=1)
    cache = store.load([kept.row["trial"] for kept in trials])
    pretrained = []
    for kept in trials:
        trial = kept.row["trial"]
        if trial not in cache:
            raise UsageError(
                f"The pre-trained weights of trial {trial} of cell {name} are not in the cache; `{cell.again()}` "
                "trains them again."
            )
        # The projection head served the pretext task alone.
        encoder = {}
        for name_of_weight, weight in cache[trial].weights.items():
            if name_of_weight.startswith("encoder."):
                encoder[name_of_weight] = weight
        pretrained.append(replace(kept, weights=encoder))
    return pretrained


def _initial(cell: OpenCell, trials: list[StoredTrial]) -> list[StoredTrial]:
    """The trials with the encoders before training."""
    config = cell.config
    # Rivals have no encoder in any phase.
    if "network" not in config.part("method").uses:
        raise UsageError(f"Cell {cell.folder.name} has no encoder: method={config.method['name']} trains no network.")
    weightless = [replace(kept, weights={}) for kept in trials]
    untrained = model_of(config, weightless, _reader(cell), None, "")
    n_labelled = parsed(int, cell.stored.description["reading"]["n_labelled"], "reading.n_labelled")
    networks = untrained.description.networks(cell.streams(n_labelled))
    encoder = replace(networks, settings=config.network).encoder(untrained.trials).to(untrained.dtype)
    weights = {}
    for name, weight in encoder.state_dict().items():
        weights[f"encoder.{name}"] = weight.detach().numpy()
    return StoredTrial.of_stack([kept.row for kept in trials], untrained.preprocessing.arrays(), weights)


def _reader(cell: OpenCell) -> Reader:
    """The reader of a cell's table, with its columns as they are encoded. Only a user's file has rules of reading."""
    described = cell.stored.description
    encoding = build("encoding", cell.config.used_encoding)
    columns = encoding.columns([Column.from_plain(each) for each in described["columns"]])
    rules = described.get("reading", {}).get("rules")
    if not rules:
        return Reader.plain(columns)
    check_reader(rules, tuple(columns))
    return Reader.with_rules(rules, columns)
