"""What the store is given of the trials of one stack."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]

KEYS = ("trial", "row", "label")


@dataclass(frozen=True)
class Predictions:
    """What one trial predicted on its n test rows.

    Attributes:
        trial: its number.
        rows: of the table, from 0, ``(n,)``.
        labels: their classes' numbers, ``(n,)``.
        probabilities: of the classes, ``(n, C)``. They are kept as float16, which has three digits.
    """

    trial: int
    rows: NDArray[np.int64]
    labels: NDArray[np.int64]
    probabilities: NDArray[np.float64]

    @property
    def size(self) -> int:
        """Bytes, before they are compressed."""
        return len(self.rows) * (2 * int(self.probabilities.shape[1]) + 3 * 4)

    def frame(self) -> "pd.DataFrame":
        """As they are kept: ``trial, row, label`` and a column a class, by its number."""
        import pandas as pd

        frame = pd.DataFrame(self.probabilities.astype(np.float16))
        frame.columns = pd.Index([str(number) for number in frame.columns])
        return frame.assign(
            trial=np.int32(self.trial), row=self.rows.astype(np.int32), label=self.labels.astype(np.int32)
        )

    @classmethod
    def of(cls, frame: "pd.DataFrame") -> "Predictions":
        """What `frame` gave; probabilities sum to one again."""
        trial, rows, labels = (frame[column].to_numpy(dtype=np.int64) for column in KEYS)
        probabilities = frame.drop(columns=list(KEYS)).to_numpy(dtype=np.float64)
        return cls(int(trial[0]), rows, labels, probabilities / probabilities.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class StackRecord:
    """What is kept of the trials of one stack.

    ``rows`` are a row a trial, ``curves`` a record an epoch and trial, ``preprocessing`` arrays ``(T, M)`` by name,
    ``environment`` versions and hardware, ``weights`` the parameters ``(T, ...)`` of f and h by name, where asked for,
    ``tries`` a row a try of a trial that was tuned, ``predictions`` those of trials that did not diverge, ``notes``
    what should be known of them.
    """

    rows: Sequence[Row]
    curves: Sequence[Row]
    preprocessing: Mapping[str, NDArray[np.float64]]
    environment: Mapping[str, Any]
    weights: Mapping[str, NDArray[Any]] | None = None
    tries: Sequence[Row] = ()
    predictions: Sequence[Predictions] = ()
    notes: Sequence[str] = ()

    @classmethod
    def join(cls, records: "Sequence[StackRecord]") -> "StackRecord":
        """Those of several stacks without weights as one."""
        return cls(
            [row for record in records for row in record.rows],
            [row for record in records for row in record.curves],
            {name: np.concatenate([each.preprocessing[name] for each in records]) for name in records[0].preprocessing},
            records[0].environment,
            tries=[row for record in records for row in record.tries],
            predictions=[each for record in records for each in record.predictions],
            notes=list(dict.fromkeys(note for record in records for note in record.notes)),
        )
