"""`load_model` opens a model: a saved folder, or a cell in the store in one of its phases."""

from collections.abc import Collection
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, get_args

from safetensors.numpy import load

from ..data.preprocessing import Preprocessing
from ..errors import UsageError, unknown_name
from ..options import load_plugins
from ..options.settings import expanded
from ..results.records import WEIGHTS, DamagedRecordError, parsed, read_file, read_record
from ..version import __version__
from .cell_models import Phase, model_of_cell
from .checks import check_arrays, check_imported
from .model import Description, Model
from .saving import CONTENTS, KIND, LAYOUT, PREPROCESSING


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
        for needed in (WEIGHTS, PREPROCESSING):
            if needed not in contents["files"]:
                raise DamagedRecordError(f"it has no {needed}")

        to_vectors = partial(Preprocessing.from_arrays, is_shared=description.is_shared)
        vectors = read_file(folder, contents, PREPROCESSING, lambda content: to_vectors(load(content)))
        model = Model(description, vectors, read_file(folder, contents, WEIGHTS, load))
        check_arrays(model)
    except (DamagedRecordError, OSError) as error:
        raise UsageError(f"{folder} cannot be used: {error}; copy it again, or save it anew.") from error
    return model
