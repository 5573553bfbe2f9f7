"""Records of earlier schemas in the layout of this version, so that results outlive a release.

A schema is the layout of files. What it says of each earlier one is fixed, since no release writes it any more.

- Schema 2 describes a cell by its identity, which has every option by its group, and has the configuration in a file of
  its own, ``config.yaml``. Options that came after the first cells are missing in the identity at their defaults. All
  targets are classes.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..data.targets import Classes
from ..options import COLUMNS
from ..options.axes import label
from ..options.combinations import part_axis
from .files import DamagedRecordError
from .identity import NOT_OPTIONS, NULL, as_column
from .records import Row, check_fields, read_file

CONFIG = "config.yaml"
OF_A_FIT = {
    "validate_every": 1, "min_steps": 0, "weight_decay": 0, "gradient_clip": NULL, "schedule": "constant",
}  # fmt: skip
LEFT_OUT_OF_2: Mapping[str, Mapping[str, Any]] = {
    "pretrain.learning_rate": {f"pretrain.{name}": value for name, value in OF_A_FIT.items()},
    "finetune.learning_rate": {
        **{f"finetune.{name}": value for name, value in OF_A_FIT.items()},
        "finetune.freeze": "none", "finetune.class_weight": "none", "finetune.metric": NULL,
    },
    "network.encoder.width": {"network": "mlp", "encoding": "onehot"},
    "loss.temperature": {"loss.symmetric": False},
    "seed": {"split": "random", "tune": 0, "precision": "32-true"},
}  # fmt: skip
"""Options that an identity of schema 2 lacks at these values, by an option that each cell with them has."""
GONE_SINCE_2: Mapping[str, Any] = {
    "pretrain.patience_rule": "exceeded", "finetune.patience_rule": "exceeded", "pretrain.drop_last": False,
    "finetune.drop_last": False, "network.encoder.final_relu": True, "network.bias_init": "zeros",
}  # fmt: skip
"""Options of schema 2 that this version does not have, and their defaults. Cells with other values show them."""


def description_of_schema_2(cell: Path, described: Row) -> Row:
    """Description of a cell in the layout of this schema, from that of schema 2 and the configuration beside it.

    Raises:
        DamagedRecordError: a value is not possible.
    """
    check_fields(described, {"identity": dict})
    config = read_file(cell, described, CONFIG, _yaml)
    check_fields({"config": config}, {"config": dict})
    options = options_of_schema_2(described["identity"])
    made = {"config": config, "options": options, "labels": labels_of(options)}
    return described | {"target": {"kind": Classes.name}} | made


def options_of_schema_2(identity: Row) -> Row:
    """The options of a cell by their dotted names, as columns of results show them."""
    options: Row = {}
    for group, value in identity.items():
        if group in NOT_OPTIONS:
            continue
        for name, option in _flat(group, value).items():
            options[name] = as_column(option)
    for present, others in LEFT_OUT_OF_2.items():
        # An option that the identity has counts more than the value at which it would be left out.
        if present in options:
            options = dict(others) | options
    kept = {}
    for name, value in options.items():
        # An option that is gone, at its default, distinguishes no cells any more.
        if GONE_SINCE_2.get(name, ...) != value:
            kept[name] = value
    return kept


def labels_of(options: Row) -> dict[str, str]:
    """Labels of the parts among these options, by the column of their axis."""
    labels = {}
    for column in COLUMNS:
        axis = part_axis(column)
        if column in options and axis is not None:
            labels[column] = label(axis, str(options[column]))
    return labels


def _flat(name: str, value: Any) -> Row:
    """The options in a group by their dotted names; those that the cell does not use are null and left out."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        return {name: value}
    options: Row = {}
    for key, inner in value.items():
        # The name of a part is the value of its axis.
        options |= _flat(name if key == "name" else f"{name}.{key}", inner)
    return options


def _yaml(content: bytes) -> Any:
    """The content of a YAML file."""
    import yaml

    try:
        return yaml.safe_load(content)
    except RecursionError as error:
        raise DamagedRecordError("it is nested too deep") from error
