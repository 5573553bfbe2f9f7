"""What the store is given of the trials of one stack."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Row = dict[str, Any]


@dataclass(frozen=True)
class StackRecord:
    """What is kept of the trials of one stack.

    ``rows`` are a row a trial, ``curves`` a record an epoch and trial, ``preprocessing`` arrays ``(T, M)`` by name,
    ``environment`` versions and hardware, ``weights`` the parameters ``(T, ...)`` of f and h by name, where asked for,
    ``tries`` a row a try of a trial that was tuned, ``notes`` what should be known of them.
    """

    rows: Sequence[Row]
    curves: Sequence[Row]
    preprocessing: Mapping[str, NDArray[np.float64]]
    environment: Mapping[str, Any]
    weights: Mapping[str, NDArray[Any]] | None = None
    tries: Sequence[Row] = ()
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
            notes=list(dict.fromkeys(note for record in records for note in record.notes)),
        )
