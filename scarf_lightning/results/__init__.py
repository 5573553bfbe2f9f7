"""Identity and the store: what was trained, kept in plain files. Free of torch."""

from .claims import LostClaimError, clear_dead, folder_time, give_back, is_claimed
from .files import DamagedRecordError, check_folder, write_whole
from .identity import SCIENCE_VERSION, columns, fingerprint, identity, pretraining_identity, reading_columns
from .index import Rows, on_few_steps, read_summary, values_of
from .loading import (
    StoredCell,
    StoredTrial,
    described_cells,
    descriptions,
    keeps_predictions,
    load,
    load_cell,
    load_predictions,
    load_trials,
    measured_rows,
    no_results,
    read_curves,
    read_environments,
    read_predictions,
)
from .notes import Failure, KnownData, forget_failure, keep_failure, known_data, note_data, read_failure
from .pretrained import PretrainedTrial, PretrainingStore
from .records import Row
from .store import CellStore, Predictions, StackRecord, Stored, read_cell, source_commit
from .versions import newest_versions, science_of, trained_by, version_numbers

__all__ = (
    "SCIENCE_VERSION",
    "CellStore",
    "DamagedRecordError",
    "Failure",
    "KnownData",
    "LostClaimError",
    "Predictions",
    "PretrainedTrial",
    "PretrainingStore",
    "Row",
    "Rows",
    "StackRecord",
    "Stored",
    "StoredCell",
    "StoredTrial",
    "check_folder",
    "clear_dead",
    "columns",
    "described_cells",
    "descriptions",
    "fingerprint",
    "folder_time",
    "forget_failure",
    "give_back",
    "identity",
    "is_claimed",
    "keep_failure",
    "keeps_predictions",
    "known_data",
    "load",
    "load_cell",
    "load_predictions",
    "load_trials",
    "measured_rows",
    "newest_versions",
    "no_results",
    "note_data",
    "on_few_steps",
    "pretraining_identity",
    "read_cell",
    "read_curves",
    "read_environments",
    "read_failure",
    "read_predictions",
    "read_summary",
    "reading_columns",
    "science_of",
    "source_commit",
    "trained_by",
    "values_of",
    "version_numbers",
    "write_whole",
)
