"""The model of a cell in the store, in one of its phases."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from ..data.columns import Column
from ..data.reading import Reader
from ..data.targets import target_from_plain
from ..errors import UsageError
from ..options import Config, build, load_plugins, read
from ..results import (
    DamagedRecordError,
    PretrainingStore,
    StoredTrial,
    load_cell,
    load_trials,
    pretraining_identity,
)
from ..results.records import parsed
from ..results.store import DESCRIPTION
from .checks import check_arrays, check_imported
from .model import Model, model_of, why_no_model
from .saving import CONTENTS

Phase = Literal["finetune", "pretrain"]
AGAIN = "repeat its command with keep_weights=true force=true"
"""What makes weights that were not kept."""


def model_of_cell(folder: Path, plugins: Collection[str], phase: Phase) -> Model:
    """The model of a cell's trials in a phase; the arguments are as of `load_model`."""
    if not (folder / DESCRIPTION).exists():
        raise UsageError(f"{folder} is no model: it has neither {CONTENTS} nor {DESCRIPTION}.")
    load_plugins(list(plugins))
    folder = folder.resolve()
    stored = load_cell(folder.name, folder.parent)
    described = stored.description
    # A trial that diverged has no weights.
    kept = [each for each in load_trials(folder.name, folder.parent) if each.row.get("diverged") is None]
    try:
        check_imported(parsed(list[str], stored.config.get("plugins", []), "plugins"), plugins, f"Cell {folder.name}")
        config = read(stored.config)
        if not kept:
            raise UsageError(f"Cell {folder.name} has no finished trial.")
        # The trials of a cell may have been trained on several machines, but in one precision.
        precision: Any = kept[0].row.get("precision")
        config = replace(config, trainer=replace(config.trainer, precision=precision))
        target = None
        if phase == "finetune":
            kept, target = _finetuned(folder, config, kept), target_from_plain(described)
        else:
            kept = _pretrained(folder, config, str(described["identity"].get("data")), kept)
        model = model_of(config, kept, _reader(config, described), target, described["dataset"])
        check_arrays(model)
    except UsageError:
        raise
    except (DamagedRecordError, KeyError, ValueError) as error:
        # Arrays that do not belong together.
        raise UsageError(f"{folder} cannot be used: {error}.") from error
    return model


def _finetuned(folder: Path, config: Config, trials: list[StoredTrial]) -> list[StoredTrial]:
    """The trials with the weights at the end of training."""
    why = why_no_model(config)
    loadable = [kept for kept in trials if kept.weights]
    if why is None and not loadable:
        why = f"the fine-tuned weights were not kept; {AGAIN}"
    if why is not None:
        raise UsageError(f"Cell {folder.name} has no model: {why}.")
    return loadable


def _pretrained(folder: Path, config: Config, data_hash: str, trials: list[StoredTrial]) -> list[StoredTrial]:
    """The trials with the encoders as pre-training left them."""
    if not config.is_pretrained:
        raise UsageError(f"Cell {folder.name} is not pre-trained; it has phase=finetune alone.")
    # Cells with the same pre-training share it in the cache, so it is found by its own identity. Nothing is added to
    # the store here, so its limit does not matter.
    store = PretrainingStore(folder.parent, pretraining_identity(config, data_hash), max_gb=1)
    cache = store.load([kept.row["trial"] for kept in trials])
    pretrained = []
    for kept in trials:
        trial = kept.row["trial"]
        if trial not in cache:
            raise UsageError(
                f"The pre-trained weights of trial {trial} of cell {folder.name} are not in the cache; {AGAIN}."
            )
        # The projection head served the pretext task alone.
        weights = cache[trial].weights
        encoder = {name: weight for name, weight in weights.items() if name.startswith("encoder.")}
        pretrained.append(replace(kept, weights=encoder))
    return pretrained


def _reader(config: Config, described: Mapping[str, Any]) -> Reader:
    """The reader of a cell's table, with its columns as they are encoded. Only a user's file has rules of reading."""
    encoding = build("encoding", config.used_encoding)
    columns = encoding.columns(parsed(list[Column], described["columns"], "columns"))
    rules = described.get("reading", {}).get("rules")
    return Reader.with_rules(rules, columns) if rules else Reader.plain(columns)
