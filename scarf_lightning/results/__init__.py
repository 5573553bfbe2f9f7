"""Identity and the store: what was trained, kept in plain files. Free of torch."""

from .claims import (
    Claim,
    LostClaimError,
    claim,
    claim_when_free,
    folder_time,
    give_back,
    is_claimed,
    work_under_claims_of,
)
from .few_steps import few_steps_note
from .files import DamagedRecordError, check_folder, write_whole
from .identity import (
    SCIENCE_VERSION,
    columns,
    fingerprint,
    identity,
    is_of_reading,
    pretraining_identity,
    reading_columns,
    with_reading,
)
from .index import Rows, read_summary, values_of
from .kept_looks import keep_looks, read_looks
from .loading import (
    StoredCell,
    StoredTrial,
    described_cells,
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
from .versions import newest_versions

__all__ = (
    "SCIENCE_VERSION",
    "CellStore",
    "Claim",
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
    "claim",
    "claim_when_free",
    "columns",
    "described_cells",
    "few_steps_note",
    "fingerprint",
    "folder_time",
    "forget_failure",
    "give_back",
    "identity",
    "is_claimed",
    "is_of_reading",
    "keep_failure",
    "keep_looks",
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
    "pretraining_identity",
    "read_cell",
    "read_curves",
    "read_environments",
    "read_failure",
    "read_looks",
    "read_predictions",
    "read_summary",
    "reading_columns",
    "source_commit",
    "values_of",
    "with_reading",
    "work_under_claims_of",
    "write_whole",
)
