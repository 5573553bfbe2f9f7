"""Predict the rows of a file: ``scarf-predict MODEL new.csv [--output FILE]``."""

import argparse
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ..errors import UsageError
from ..screen import escaped, program
from .output import FORCE, for_spreadsheets, write_output


def main(arguments: Sequence[str] | None = None) -> int:
    """Write a CSV with a row for each row of the file, in the same order: ``class``, the most probable class, and
    ``probability_<class>`` for each class; or the ``number``. Warnings, such as of an unseen category, go to stderr.

    Returns:
        0, or 2 if the input cannot be used; stderr says why in one sentence.
    """
    parser = argparse.ArgumentParser(
        prog=program("predict"), description="Predict the rows of a file, and write the predictions as CSV."
    )
    parser.add_argument("model", type=_path, help="folder of a model, or of a cell in the results")
    parser.add_argument("rows", type=_path, help="file with the columns of the table, of any format that it may have")
    parser.add_argument("--output", type=_path, help="file to write; default: standard output")
    parser.add_argument(FORCE, action="store_true", help="replace the file of --output if it is there")
    parser.add_argument("--separator", help="between the columns of the file; default: as in training, or found")
    parser.add_argument("--decimal", choices=[".", ","], metavar="SIGN", help="decimal sign; default: as in training")
    parser.add_argument("--encoding", help="text encoding, such as cp1252; default: as in training")
    parser.add_argument("--sheet", help="of an Excel file; default: the first")
    parser.add_argument(
        "--plugins", nargs="*", default=[], help="modules of your own that define the network or the kind of target"
    )
    try:
        _predict(parser.parse_args(arguments))
    except UsageError as error:
        sys.stderr.write(f"{escaped(str(error))}\n")
        return 2
    return 0


def _path(text: str) -> Path:
    return Path(text).expanduser()


def _predict(asked: argparse.Namespace) -> None:
    from ..data.sources.formats import read_rows
    from ..estimators import load_model

    model = load_model(asked.model, asked.plugins)
    # A file to predict is mostly written as the one that the model learned from.
    options = {}
    for option in ("separator", "decimal", "encoding"):
        options[option] = getattr(asked, option) or model.description.file.get(option)
    # Caught, since Python would print the line of our code that warns.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows = read_rows(asked.rows, as_written=model.description.reader.text, sheet=asked.sheet, **options)
        answers = model.answered(rows)
    for warning in caught:
        # Other categories than ours are for programmers.
        if warning.category is UserWarning:
            sys.stderr.write(f"{escaped(str(warning.message))}\n")
    # The names of classes are the user's texts, in the headings and in the first column.
    answers = for_spreadsheets(answers)
    if asked.output is None:
        answers.to_csv(sys.stdout, index=False)
        return
    write_output(asked.output, partial(answers.to_csv, index=False), force=asked.force)


if __name__ == "__main__":
    sys.exit(main())
