"""The title of a page: the question that its cells ask."""

from collections.abc import Sequence

from ..errors import capitalised, enumeration
from .blocks import named
from .cell_results import CellResults

MOST_COLUMNS = 3
"""Columns that a title names."""


def title_of(results: CellResults, reference: str | None = None) -> str:
    """A title that names the question and the data. ``reference`` is the one that the user names."""
    cells = results.cells
    datasets = list(dict.fromkeys(cells["dataset"]))
    # A heading has room for three names.
    where = f"on {len(datasets)} datasets"
    if len(datasets) <= 3:
        where = f"on {named(datasets)}"
    if reference is not None:
        return f"Is anything better than {reference} {where}?"
    # A question about pre-training needs cells without one to compare with.
    tasks = [name for name in dict.fromkeys(cells["pretrain"]) if name != "none"]
    has_none = len(tasks) < cells["pretrain"].nunique()
    if tasks and has_none:
        subject = f"pretrain={','.join(tasks)}" if len(tasks) <= 3 else "pre-training"
        return f"Does {subject} help {where}?"
    if results.compared == ["dataset.drop"]:
        return f"Which columns matter {where}?"
    if results.compared:
        return _which(results.compared, where)
    if results.competition.budgets is not None:
        return f"How many labels are enough {where}?"
    if results.contexts:
        return _which(results.contexts, where)
    return f"Results {where}"


def _which(columns: Sequence[str], where: str) -> str:
    """The question of which values of these columns are best."""
    if len(columns) > MOST_COLUMNS:
        return f"Which setting is best {where}?"
    questions = enumeration([f"which {column}" for column in columns])
    return f"{capitalised(questions)} {'is' if len(columns) == 1 else 'are'} best {where}?"
