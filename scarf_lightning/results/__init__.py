"""Identity and the store: what was trained, kept in plain files. Free of torch."""

from .datasets import remember_hash, remembered_hash
from .identity import fingerprint, identity
from .loading import axis_columns, load
from .store import CellStore, StackRecord

__all__ = [
    "CellStore",
    "StackRecord",
    "axis_columns",
    "fingerprint",
    "identity",
    "load",
    "remember_hash",
    "remembered_hash",
]
