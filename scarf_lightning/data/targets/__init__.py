"""Kinds of targets, the quantities that are predicted of a table's rows: a kind a file.

A kind says in its class what differs between kinds: how its labels are read, kept, split, made noisy and weighted, what
h puts out and what its loss is, what a prediction is, and which metric leads. Everything else asks it.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import UsageError
from .classes import UNLABELLED, Classes
from .number import Number
from .target import Labels, Predictions, ReadTarget

if TYPE_CHECKING:
    import pandas as pd

    from ..columns import Coded

__all__ = [
    "FEWEST_ROWS", "KINDS", "UNLABELLED", "Classes", "Labels", "Number", "Predictions", "ReadTarget", "Target",
    "leading_metric", "read_target", "target_from_plain",
]  # fmt: skip

Target = Classes | Number
KINDS: dict[str, type[Target]] = {kind.name: kind for kind in (Classes, Number)}

FEWEST_ROWS = 10
"""With fewer labelled rows a 70/10/20 split leaves validation or test without a row."""

MOST_FRACTIONS = 20
"""A target with fractions and more distinct values than this, or than half of the rows, is a number."""

MOST_WHOLE_NUMBERS = 50
"""So is a target with more distinct whole numbers than this, or with more than `MOST_FRACTIONS` and fewer than
`ROWS_A_CLASS` rows each."""

ROWS_A_CLASS = 20


def read_target(
    column: "pd.Series[Any]",
    source: str,
    kind: str | None = None,
    *,
    decimal: str | None = None,
    is_raw: bool = False,
) -> ReadTarget:
    """Read a target column.

    Args:
        column: values of any type, missing where a row has no label.
        source: where the data came from, for messages.
        kind: of target; None takes a numeric column of many values as a number, and all else as classes.
        decimal: see `notation_of`.
        is_raw: the column is a user's, not one that was described: blanks around text are cut off.

    Raises:
        UsageError: there are too few labels; or they hold a NUL character, or are not of the kind.
    """
    import pandas as pd

    from ..columns import is_numeric
    from ..reading.rules import text_of

    n_labelled = int(column.notna().sum())
    if n_labelled < FEWEST_ROWS:
        raise UsageError(
            f"{source} has {n_labelled} rows with a label in {column.name!r}; a 70/10/20 split needs at least "
            f"{FEWEST_ROWS}."
        )
    # The type of a column of categories or of Booleans says what its values are, and so does the user.
    is_declared = isinstance(column.dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(column)
    text = None if is_declared or is_numeric(column) else text_of(column)
    is_open = kind is None and not is_declared
    chosen = Classes if kind is None else KINDS[kind]
    notes: tuple[str, ...] = ()
    if is_open and (n_distinct := _quantities(column, text, decimal)):
        chosen = Number
        note = f"Target {column.name!r} has {n_distinct} different numbers and is predicted as a number; "
        notes = (f"{note}dataset.target_kind=classes takes each of them as a class.",)
    if is_raw and chosen is Classes and text is not None:
        values = np.array([*text.distinct, None], dtype=object)[text.codes]
        column = pd.Series(values, column.index, name=column.name, dtype="object")
    return replace(chosen.read(column, source, decimal), notes=notes)


def leading_metric(targets: Iterable[Target]) -> str:
    """The metric that tables of these targets lead with, by the kind that most of them are: the one that all targets
    of this kind agree on, or else the usual one."""
    all_targets = list(targets)
    kinds = [type(each) for each in all_targets]
    # Of two kinds with as many targets the first leads, in whichever order the cells are read.
    kind = max(KINDS.values(), key=kinds.count)
    named = {each.metric for each in all_targets if type(each) is kind}
    return named.pop() if len(named) == 1 else kind.usual_metric


def target_from_plain(plain: Any) -> Target:
    """The target that a record of a cell describes.

    Raises:
        ValueError: a value is not possible.
    """
    try:
        description = plain["target"]
        kind = KINDS[description["kind"]]
        return kind.from_plain({**plain, **description})
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError("it has no target") from error


def _quantities(column: "pd.Series[Any]", text: "Coded | None", decimal: str | None) -> int | None:
    """Number of different numbers in a column or its ``text``, if they look like a quantity; None if it has classes."""
    from ..reading.rules import quantity_rule

    found = quantity_rule(column, decimal, text)
    if found is None or found[0].rule != "numbers":
        return None
    numbers = found[0].numbers(column)
    known = numbers[~np.isnan(numbers)]
    n_distinct = len(np.unique(known))
    # A number with a fraction is hardly the name of a class.
    if not np.isfinite(known).all() or (known % 1).any():
        most = min(MOST_FRACTIONS, len(known) / 2)
    else:
        most = MOST_FRACTIONS if len(known) < ROWS_A_CLASS * n_distinct else MOST_WHOLE_NUMBERS
    return n_distinct if n_distinct > most else None
