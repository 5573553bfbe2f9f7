"""The identity of a cell: what its numbers depend on, and nothing else."""

import hashlib
import json
from dataclasses import replace
from typing import Any

from ..config import Config, canonical, plugin_hashes
from ..settings import DEFAULT_PRECISION

SCIENCE_VERSION = 1
"""Raised by every change that alters the numbers a cell gives; results of another version are other results."""

OF_NO_PRETRAINING = ("regime", "method", "cotrain", "finetune", "tune")
"""What a cell's pre-training does not depend on."""


def identity(config: Config, data_hash: str) -> dict[str, Any]:
    """The canonical fields of a cell on the data of this hash.

    Precision is one of them where it is not the default.
    """
    precision = config.trainer.precision
    other = {} if precision == DEFAULT_PRECISION else {"precision": precision}
    return _numbered(config, data_hash, other | canonical(config))


def pretraining_identity(config: Config, data_hash: str) -> dict[str, Any]:
    """The canonical fields of a cell's pre-training: one serves every method and regime.

    Precision is always one of them.
    """
    alone = canonical(replace(config, method={"name": "control"}))  # a method may use what its pre-training does not
    fields = {name: value for name, value in alone.items() if name not in OF_NO_PRETRAINING}
    fields["network"] = {name: value for name, value in alone["network"].items() if name != "head"}
    return _numbered(config, data_hash, {"precision": config.trainer.precision} | fields)


def _numbered(config: Config, data_hash: str, fields: dict[str, Any]) -> dict[str, Any]:
    numbered = {"science": SCIENCE_VERSION, "data": data_hash} | fields
    if config.plugins and (hashes := plugin_hashes(config.plugins)):
        numbered["plugins"] = hashes
    plain: dict[str, Any] = _plain(numbered)
    return plain


def fingerprint(fields: dict[str, Any]) -> str:
    """16 hexadecimal digits that name these fields."""
    text = json.dumps(fields, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    """A number's identity is its value: 1 and 1.0 are one setting."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value
