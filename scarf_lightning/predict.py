"""Predict the rows of a file: `python -m scarf_lightning.predict MODEL new.csv [--output FILE]`."""

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from .errors import UsageError
from .escaping import escaped


def main(arguments: Sequence[str] | None = None) -> int:
    """Write a CSV with a row for each row of the file, in its order: ``class``, the most probable one, and
    ``probability_<class>`` of each.

    Returns:
        0, or 2 where the input cannot be used: why stands in one sentence on standard error. So do warnings, as of a
        category that the table did not have.
    """
    parser = argparse.ArgumentParser(
        prog="python -m scarf_lightning.predict", description="Classes and probabilities of the rows of a file, as CSV."
    )
    parser.add_argument("model", type=Path, help="a model's folder, or a cell's in the results")
    parser.add_argument("rows", type=Path, help="a CSV or Parquet file with the table's columns")
    parser.add_argument("--output", type=Path, help="the file to write; standard output without it")
    parser.add_argument("--separator", help="of the file's columns; as in training, or as seen in the file")
    parser.add_argument("--decimal", choices=[".", ","], help="the decimal sign; as in training")
    parser.add_argument("--encoding", help="such as cp1252; as in training")
    parser.add_argument("--plugins", nargs="*", default=[], help="modules of your own that the model's network is in")
    try:
        _predict(parser.parse_args(arguments))
    except UsageError as error:
        sys.stderr.write(f"{escaped(str(error))}\n")
        return 2
    return 0


def _predict(asked: argparse.Namespace) -> None:
    import pandas as pd

    from .data.sources.rows import read_rows
    from .estimators import load_model

    model = load_model(asked.model, asked.plugins)
    given = {option: getattr(asked, option) for option in ("separator", "decimal", "encoding")}
    options = {option: value or model.description.file.get(option) for option, value in given.items()}
    rows = read_rows(asked.rows, as_written=model.description.reader.text, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        probabilities = model.predict_proba(rows)
    for warning in caught:
        if warning.category is UserWarning:  # of ours; others are for those who write programs
            sys.stderr.write(f"{escaped(str(warning.message))}\n")
    predicted = pd.DataFrame(probabilities, columns=[f"probability_{name}" for name in model.classes])
    predicted.insert(0, "class", [model.classes[code] for code in probabilities.argmax(axis=1)], allow_duplicates=True)
    if asked.output is None:
        predicted.to_csv(sys.stdout, index=False)
        return
    try:
        predicted.to_csv(asked.output, index=False)
    except OSError as error:
        raise UsageError(f"{asked.output} cannot be written: {error.strerror or error}.") from error


if __name__ == "__main__":
    sys.exit(main())
