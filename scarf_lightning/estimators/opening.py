"""`load_model` opens a model: a saved folder, or a cell in the store in one of its phases.

Arrays and plugins of a model from elsewhere are checked before anything is built of them.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from safetensors.numpy import load
from torch import nn

from ..data.columns import Column
from ..data.preprocessing import VECTORS, Preprocessing
from ..data.reading import Reader
from ..data.targets import target_from_plain
from ..engine.encoder import Encoder
from ..engine.lifting import lift, state
from ..errors import UsageError, unknown_name
from ..options import Config, build, load_plugins, read
from ..options.combinations import pretraining_options
from ..options.settings import expanded
from ..results import (
    DamagedRecordError,
    PretrainingStore,
    StoredTrial,
    identity,
    load_cell,
    load_trials,
)
from ..results.records import WEIGHTS, parsed, read_file, read_record
from ..results.store import DESCRIPTION
from ..version import __version__
from .model import CONTENTS, KIND, LAYOUT, PREPROCESSING, Description, Model, Weights, model_of, why_no_model

Phase = Literal["finetune", "pretrain"]
AGAIN = "repeat its command with keep_weights=true force=true"
"""What makes weights that were not kept."""


def load_model(path: str | PathLike[str], plugins: Collection[str] = (), *, phase: Phase | None = None) -> Model:
    """Open a model. Neither the training data nor the computer that trained it is needed.

    Args:
        path: a folder that `Model.save`, an estimator or ``keep_weights=true`` has written; or a
            cell's folder in the store, ``results/FINGERPRINT``.
        plugins: modules to import first, if the model or the cell uses parts of your own. Importing a module runs it,
            so a module that only a file names is not imported.
        phase: of a cell, when to look at its networks: ``finetune``, the end of training, with classes, which needs
            ``keep_weights=true``; or ``pretrain``, the encoders as pre-training left them, as long as the cache has
            them. None is ``finetune``.

    Raises:
        UsageError: there is no such model, cell or phase; something is damaged or of another version; weights
            were not kept, with the command that trains them again; or a plugin is needed that is not named.
    """
    folder = expanded(path)
    if phase not in (None, *get_args(Phase)):
        raise UsageError(unknown_name(f"phase={phase} is unknown", str(phase), get_args(Phase), "the phases"))
    # A cell has no such file itself: its saved model lies in a folder of its own within it.
    if not (folder / CONTENTS).exists():
        return model_of_cell(folder, plugins, phase or "finetune")
    if phase is not None:
        raise UsageError(f"{folder} is a saved model, which has one phase: name a cell's folder.")
    return read_model(folder, plugins)


def read_model(folder: Path, plugins: Collection[str]) -> Model:
    """The model in a folder that `save` wrote; ``plugins`` are the modules to import first.

    Raises:
        UsageError: the folder is damaged, of another version, or needs a plugin that is not named.
    """
    load_plugins(list(plugins))
    try:
        contents = read_record(folder, CONTENTS, KIND, hashes=True)
        plain = parsed(dict[str, Any], contents.get("model"), "model")
        layout = plain.pop("version", None)
        if layout != LAYOUT:
            raise UsageError(
                f"{folder} was saved by another version of scarf-lightning; load it there, or fit it again with "
                f"{__version__}."
            )
        check_imported(parsed(list[str], plain.get("plugins", []), "model.plugins"), plugins, f"The model {folder}")
        description = parsed(Description, plain, "model")
        # Files that the record does not list have no hash, and are not read.
        for file in (WEIGHTS, PREPROCESSING):
            if file not in contents["files"]:
                raise DamagedRecordError(f"it has no {file}")

        to_vectors = partial(Preprocessing.from_arrays, is_shared=description.is_shared)
        vectors = read_file(folder, contents, PREPROCESSING, lambda content: to_vectors(load(content)))
        model = Model(description, vectors, read_file(folder, contents, WEIGHTS, load))
        check_arrays(model)
    except (DamagedRecordError, OSError) as error:
        raise UsageError(f"{folder} cannot be used: {error}; copy it again, or save it anew.") from error
    return model


def model_of_cell(folder: Path, plugins: Collection[str], phase: Phase) -> Model:
    """The model of a cell's trials in a phase; the arguments are as of `load_model`."""
    if not (folder / DESCRIPTION).exists():
        raise UsageError(f"{folder} is no model: it has neither {CONTENTS} nor {DESCRIPTION}.")
    load_plugins(list(plugins))
    folder = folder.resolve()
    cell = load_cell(folder.name, folder.parent)
    description = cell.description
    # A trial that diverged has no weights.
    trials = [each for each in load_trials(folder.name, folder.parent) if each.row.get("diverged") is None]
    try:
        check_imported(parsed(list[str], cell.config.get("plugins", []), "plugins"), plugins, f"Cell {folder.name}")
        config = read(cell.config)
        if not trials:
            raise UsageError(f"Cell {folder.name} has no finished trial.")
        # The trials of a cell may have been trained on several machines, but in one precision.
        precision: Any = trials[0].row.get("precision")
        config = replace(config, trainer=replace(config.trainer, precision=precision))
        target = None
        if phase == "finetune":
            trials, target = _finetuned_trials(folder, config, trials), target_from_plain(description)
        else:
            trials = _pretrained_trials(folder, config, str(description["identity"].get("data")), trials)
        model = model_of(config, trials, _reader(config, description), target, description["dataset"])
        check_arrays(model)
    except UsageError:
        raise
    except (DamagedRecordError, KeyError, ValueError) as error:
        # Arrays that do not belong together.
        raise UsageError(f"{folder} cannot be used: {error}.") from error
    return model


def _finetuned_trials(folder: Path, config: Config, trials: list[StoredTrial]) -> list[StoredTrial]:
    """The trials with the weights at the end of training."""
    why = why_no_model(config)
    trials_with_weights = [trial for trial in trials if trial.weights]
    if why is None and not trials_with_weights:
        why = f"the fine-tuned weights were not kept; {AGAIN}"
    if why is not None:
        raise UsageError(f"Cell {folder.name} has no model: {why}.")
    return trials_with_weights


def _pretrained_trials(folder: Path, config: Config, data_hash: str, trials: list[StoredTrial]) -> list[StoredTrial]:
    """The trials with the encoders as pre-training left them."""
    if not config.is_pretrained:
        raise UsageError(f"Cell {folder.name} is not pre-trained; it has phase=finetune alone.")
    # Cells with the same pre-training share it in the cache, so it is found by its own identity. Nothing is added to
    # the store here, so its limit does not matter.
    store = PretrainingStore(folder.parent, identity(config, pretraining_options(config), data_hash), max_gb=1)
    cache = store.load([trial.row["trial"] for trial in trials])
    pretrained_trials = []
    for trial in trials:
        number = trial.row["trial"]
        if number not in cache:
            raise UsageError(
                f"The pre-trained weights of trial {number} of cell {folder.name} are not in the cache; {AGAIN}."
            )
        # The projection head served the pretext task alone.
        weights = cache[number].weights
        encoder = {name: weight for name, weight in weights.items() if name.startswith("encoder.")}
        pretrained_trials.append(replace(trial, weights=encoder))
    return pretrained_trials


def _reader(config: Config, description: Mapping[str, Any]) -> Reader:
    """The reader of a cell's table, with its columns as they are encoded. Only a user's file has rules of reading."""
    encoding = build("encoding", config.used_encoding)
    columns = encoding.columns(parsed(list[Column], description["columns"], "columns"))
    rules = description.get("reading", {}).get("rules")
    return Reader.with_rules(rules, columns) if rules else Reader.plain(columns)


def check_imported(needed: Collection[str], imported: Collection[str], what: str) -> None:
    """Refuse a file with plugins that the caller has not named: importing a module runs it."""
    if unnamed_modules := sorted(set(needed) - set(imported)):
        raise UsageError(
            f"{what} needs the module {unnamed_modules[0]}; allow its import with plugins=[{unnamed_modules[0]!r}]."
        )


def check_arrays(model: Model) -> None:
    """Make sure that the arrays belong to the described networks.

    A false description cannot ask for more memory than the arrays take: the networks are first built without any.

    Raises:
        DamagedRecordError: an array is missing, is not expected, has another shape, or holds NaN; or the networks
            cannot be built.
    """
    networks = model.description.networks
    try:
        _ = model.description.reader
        # A module on this device has shapes and no memory.
        with torch.device("meta"):
            network = networks.network.build(networks.columns, None)
            # Only an encoder of pre-training holds what its corruption has learnt in place of missing values.
            learns = "encoder.missing" in model.weights
            encoder = Encoder(networks.columns, [network], width=0, learns_missing_values=learns)
        _compare({name: each for name, each in model.weights.items() if not name.startswith("head.")}, encoder=encoder)
        if model.description.predicts is not None:
            # The width is computed by f, which is safe to build after its arrays were compared.
            _ = networks.width
            with torch.device("meta"):
                head = lift([networks.plain_head()])
            _compare(model.weights, encoder=encoder, head=head)
    except (UsageError, DamagedRecordError):
        raise
    except Exception as error:
        # Readers and networks refuse impossible options each in its own way.
        raise DamagedRecordError(f"the described model cannot be built: {type(error).__name__}: {error}") from error
    n_networks, n_columns = len(model.description.trials), len(model.description.columns)
    for name, array in {**model.weights, **model.preprocessing.arrays()}.items():
        if len(array) != n_networks or (name in VECTORS and array.shape[1:] != (n_columns,)):
            raise DamagedRecordError(
                f"{name} has the shape {array.shape} for {n_networks} networks of {n_columns} columns"
            )
        # The ends of a network's bins may be infinite, and a number whose gaps networks see is not imputed.
        is_sound = ~np.isnan(array) if name in model.weights else np.isfinite(array)
        if not is_sound.all() and name != "fill":
            raise DamagedRecordError(f"{name} holds NaN or an infinite value")


def _compare(arrays: Weights, **parts: nn.Module) -> None:
    """Compare the shapes of arrays, but for the trial axis, with those of modules on no device."""
    array_shapes = {name: array.shape[1:] for name, array in arrays.items()}
    module_shapes: dict[str, tuple[int, ...]] = {}
    for part, module in parts.items():
        module_shapes |= {f"{part}.{name}": tuple(each.shape[1:]) for name, each in state(module).items()}
    for name in sorted({*array_shapes, *module_shapes}):
        shape, expected_shape = (shapes.get(name, "missing") for shapes in (array_shapes, module_shapes))
        if shape != expected_shape:
            raise DamagedRecordError(f"{name} is {shape}, and in the described network {expected_shape}")
