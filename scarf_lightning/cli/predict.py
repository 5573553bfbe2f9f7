"""`scarf predict`: the rows of a file."""

import sys
import warnings
from argparse import Namespace
from functools import partial

from ..screen import escaped
from .output import escape_formulas, write_output


def predict(asked: Namespace) -> None:
    """Write a CSV with a row for each row of the file, in the same order: ``class``, the most probable class, and
    ``probability_<class>`` for each class; or the ``number``. Warnings, such as of an unseen category, go to stderr.

    Args:
        asked: the arguments of the command by their names.
    """
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
        reader = model.description.reader
        rows = read_rows(asked.rows, as_written=reader.text, categories=reader.categories, sheet=asked.sheet, **options)
        answers = model.answered(rows)
    for warning in caught:
        # Other categories than ours are for programmers.
        if warning.category is UserWarning:
            sys.stderr.write(f"{escaped(str(warning.message))}\n")
    # The names of classes are the user's texts, in the headings and in the first column.
    answers = escape_formulas(answers)
    if asked.output is None:
        answers.to_csv(sys.stdout, index=False)
        return
    write_output(asked.output, partial(answers.to_csv, index=False), force=asked.force)
