"""Identity and the store: what was trained, kept in plain files. Free of torch."""

from .claims import LostClaimError, clear_dead, folder_time, give_back, is_claimed
from .commit import source_commit
from .datasets import KnownData, known_data, note_data
from .failures import Failure, forget_failure, keep_failure, read_failure
from .files import check_folder, write_whole
from .identity import fingerprint, identity, pretraining_identity
from .loading import axis_columns, described_cells, load
from .one_cell import (
    StoredCell,
    StoredTrial,
    load_cell,
    load_predictions,
    load_trial,
    read_curves,
    read_environments,
)
from .predictions import keeps_predictions, measured_rows, read_predictions
from .pretrained import PretrainedTrial, PretrainingStore
from .records import DamagedRecordError
from .stack_record import Predictions, StackRecord
from .store import CellStore, read_cell
from .unsaid import UNSAID, is_unsaid, with_unsaid

__all__ = [
    "UNSAID",
    "CellStore",
    "DamagedRecordError",
    "Failure",
    "KnownData",
    "LostClaimError",
    "Predictions",
    "PretrainedTrial",
    "PretrainingStore",
    "StackRecord",
    "StoredCell",
    "StoredTrial",
    "axis_columns",
    "check_folder",
    "clear_dead",
    "described_cells",
    "fingerprint",
    "folder_time",
    "forget_failure",
    "give_back",
    "identity",
    "is_claimed",
    "is_unsaid",
    "keep_failure",
    "keeps_predictions",
    "known_data",
    "load",
    "load_cell",
    "load_predictions",
    "load_trial",
    "measured_rows",
    "note_data",
    "pretraining_identity",
    "read_cell",
    "read_curves",
    "read_environments",
    "read_failure",
    "read_predictions",
    "source_commit",
    "with_unsaid",
    "write_whole",
]
