"""`Model`: trained networks to predict with, embed with, look into and save."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.preprocessing import Preprocessing
from ..data.reading import Reader
from ..data.targets import Target
from ..errors import UsageError, counted, unknown_name
from ..options import Config
from ..results import StoredTrial
from ..results.records import parsed
from .predictor import OF_A_FILE, Floats
from .trained_networks import Description, TrainedNetworks


class Model(TrainedNetworks):
    """The networks of T trials, which vote: a number, or the probability of a class, is the mean of what they give.

    Rows are a table of any library, such as a frame of pandas or polars or an Arrow table, or an array with the columns
    of `fit`. `Reader` says how they are read, and what happens to gaps, unseen categories and missing columns. Missing
    values are imputed by the column's mode or mean, as each trial did in training.

    Methods raise a UsageError for rows that `Reader` refuses, and if the model lacks what they need.
    """

    @property
    def kind(self) -> str:
        """The networks, in words."""
        return f"{counted(len(self.trials), 'network')} ({self.description.network})"

    @property
    def trials(self) -> list[int]:
        """The numbers of the trials."""
        return list(self.description.trials)

    def predicted(self, rows: Any) -> Floats:
        """The mean prediction of the networks: probabilities ``(n, C)`` in the order of their outputs, or numbers
        ``(n,)``."""
        return self.predict_values(self.values(rows))

    def predict_values(self, values: Floats) -> Floats:
        """The predictions for values ``(n, M)``, see `Predictor.values`."""
        return np.asarray(self.predictions(values).mean(axis=0))

    def transform(self, rows: Any) -> NDArray[np.float32]:
        """Embeddings of the T networks side by side, float32 ``(n, T * E)``."""
        embedded = self.chunked_outputs(self.encoder, self.values(rows))
        return np.asarray(embedded.movedim(0, 1).flatten(1).numpy(), dtype=np.float32)

    def only(self, trial: int) -> "Model":
        """The network of one trial alone."""
        if trial not in self.trials:
            known = map(str, self.trials)
            raise UsageError(unknown_name(f"The model has no trial {trial}", str(trial), known, "its trials", hint=""))
        # Trials are numbered by their splits, so after one that diverged a number is no position.
        position = self.trials.index(trial)
        weights = {}
        for name, weight in self.weights.items():
            weights[name] = weight[position : position + 1]
        description = replace(self.description, trials=(trial,))
        return Model(description, self.preprocessing.of(position), weights, self.options)

    def fitted_on(self, inputs: Sequence[str], *, is_named: bool) -> "Model":
        """The same model, which knows the columns that `fit` was given, see `Description`."""
        description = replace(self.description, inputs=tuple(inputs), is_named=is_named)
        return Model(description, self.preprocessing, self.weights, self.options)

    def __getstate__(self) -> dict[str, Any]:
        """The arrays and plain values, without the networks that were built of them."""
        return {
            # As text, so that skops asks to trust no class but this one and the estimator's.
            "description": json.dumps(asdict(self.description)),
            "preprocessing": self.preprocessing.arrays(),
            "weights": dict(self.weights),
            "options": json.dumps(self.options),
        }

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        description = parsed(Description, json.loads(state["description"]), "description")
        vectors = Preprocessing.from_arrays(state["preprocessing"], is_shared=description.is_shared)
        options = json.loads(state["options"])
        self.__init__(description, vectors, state["weights"], options)  # type: ignore[misc]


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
    # A plugin is needed again only if it made the network or the target; its corruption is no part of the model.
    network = config.part("network")
    ours = __name__.partition(".")[0]
    is_ours = True
    for each in (network, type(target or config)):
        is_ours &= each.__module__.partition(".")[0] == ours
    plain: Mapping[str, Any] = {"classes": (), "target": {}}
    if target is not None:
        plain = target.plain()
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
    vectors, weights = {}, {}
    for vector in trials[0].preprocessing:
        # Encoders alone need nothing that was fitted to labels.
        if vector != "target" or target is not None:
            vectors[vector] = np.stack([kept.preprocessing[vector] for kept in trials])
    # All networks of a cell have one shape, so their arrays are stacked; tuned ones have no model.
    for weight in trials[0].weights:
        weights[weight] = np.stack([kept.weights[weight] for kept in trials])
    preprocessing = Preprocessing.from_arrays(vectors, is_shared=description.is_shared)
    return Model(description, preprocessing, weights, asdict(config))
