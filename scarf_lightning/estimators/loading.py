"""Opening a model."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from safetensors.numpy import load

from ..config.plugins import load_plugins
from ..config.registry import checked
from ..data.reading import Reader
from ..errors import UsageError
from ..results.records import WEIGHTS, DamagedRecordError, check_fields, read_file, read_record
from ..results.store import DESCRIPTION
from ..settings import NetworkSettings
from .cells import model_of_cell
from .model import Description, Model, preprocessing_of
from .saving import CONTENTS, KIND, PREPROCESSING, VERSION


def load_model(path: str | Path, plugins: Collection[str] = ()) -> Model:
    """Open a model, wherever it is: a folder that `Model.save`, an estimator or ``keep_weights=true`` has written.

    The training data are not needed. Every file's hash is checked, and nothing that is in the folder is run.

    Args:
        path: the folder, or that of a cell of the store.
        plugins: modules of your own parts that may be imported, where the model's network is one of them.

    Raises:
        UsageError: it is no model, is damaged or of another version, or needs a plugin that is not named.
    """
    folder = Path(path)
    if not (folder / CONTENTS).is_file():
        if (folder / DESCRIPTION).is_file():
            return model_of_cell(folder.name, folder.parent)
        missing = f"it has no {CONTENTS}" if folder.is_dir() else "there is no such folder"
        raise UsageError(f"{folder} is no model: {missing}; a cell trained with keep_weights=true has one.")
    try:
        contents = read_record(folder, CONTENTS, KIND, weights=True)
        check_fields(contents, {"model": dict})
        said = contents["model"]
        check_fields(said, {"version": int})
        if said["version"] != VERSION:
            raise DamagedRecordError(f"it is of version {said['version']}, and this package reads {VERSION}")
        for needed in (WEIGHTS, PREPROCESSING):
            if needed not in contents["files"]:
                raise DamagedRecordError(f"it has no {needed}")
        weights = read_file(folder, contents, WEIGHTS, load)
        vectors = read_file(folder, contents, PREPROCESSING, load)
    except DamagedRecordError as error:
        raise UsageError(f"{folder} cannot be used: {error}; copy the model again.") from error
    description = _description(said)
    unnamed = sorted(set(description.plugins) - set(plugins))
    if unnamed:
        raise UsageError(f"The network of {folder} is in {unnamed[0]}; allow its import with plugins=[{unnamed[0]}].")
    load_plugins(list(description.plugins))
    return Model(description, preprocessing_of(vectors, is_shared=description.is_shared), weights)


def _description(said: dict[str, Any]) -> Description:
    plain = {name: value for name, value in said.items() if name not in ("version", "reader", "network")}
    lists = {name: tuple(value) for name, value in plain.items() if isinstance(value, list)}
    network = checked(NetworkSettings, said["network"], "network")
    return Description(**plain | lists, reader=Reader.from_plain(said["reader"]), network=network)
