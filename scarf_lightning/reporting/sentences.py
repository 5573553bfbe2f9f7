"""The title of a page: the question that its cells ask."""

from ..errors import capitalised, enumeration
from .blocks import named
from .cell_results import CellResults

MOST_NAMES = 3
"""Datasets, pre-trainings or columns that a title names."""


def title_of(results: CellResults, reference: str | None = None) -> str:
    """A title that names the question and the data. ``reference`` is the one that the user names."""
    cells = results.cells
    datasets = list(dict.fromkeys(cells["dataset"]))
    # A heading has room for three names.
    where = f"on {named(datasets) if len(datasets) <= MOST_NAMES else f'{len(datasets)} datasets'}"
    if reference is not None:
        return f"Is anything better than {reference} {where}?"
    # A question about pre-training needs cells without one to compare with.
    pretrains = list(dict.fromkeys(cells["pretrain"]))
    tasks = [name for name in pretrains if name != "none"]
    if 0 < len(tasks) < len(pretrains):
        subject = f"pretrain={','.join(tasks)}" if len(tasks) <= MOST_NAMES else "pre-training"
        return f"Does {subject} help {where}?"
    columns = results.compared or results.contexts
    if not columns:
        return f"Results {where}"
    if len(columns) > MOST_NAMES:
        return f"Which setting is best {where}?"
    questions = enumeration([f"which {column}" for column in columns])
    return f"{capitalised(questions)} {'is' if len(columns) == 1 else 'are'} best {where}?"
