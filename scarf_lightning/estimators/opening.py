"""`load_model` opens a model: a saved folder, or a cell in the store in one of its phases."""

from collections.abc import Collection
from os import PathLike
from typing import get_args

from ..errors import UsageError
from .cell_models import Phase, model_of_cell, one_cell
from .model import Model
from .saving import CONTENTS, place, read_model


def load_model(
    path: str | PathLike[str],
    plugins: Collection[str] = (),
    *,
    trial: int | None = None,
    phase: Phase | None = None,
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
    folder = place(path)
    if phase not in (None, *get_args(Phase)):
        raise UsageError(f"phase={phase} is unknown; the phases are: {', '.join(get_args(Phase))}.")
    if not (folder / CONTENTS).exists():
        return model_of_cell(one_cell(folder), plugins, trial, phase or "finetune")
    if phase is not None:
        raise UsageError(f"{folder} is a saved model, which has one phase: name a cell's folder.")
    found = read_model(folder, plugins)
    model = Model(found.description, found.preprocessing, found.weights)
    return model if trial is None else model.only(trial)
