"""A model as an ONNX file, which other languages and servers run: imputation, scaling and categories are inside.

Every column of the table is an input of its own, ``(n, 1)``: float64 of a numeric one, NaN where missing; strings of a
categorical one, where whatever is no category, the empty string too, counts as missing. A model with classes has the
outputs ``label`` ``(n,)`` and ``probabilities`` ``(n, C)``, one of encoders alone ``embeddings`` ``(n, T * E)``. What
a file's reading makes of text and dates is not inside: `inputs` reads rows for the file.
"""

import json
import logging
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from ..engine.lifting import unlift
from ..errors import UsageError
from ..networks import OneHot
from .model import Model

if TYPE_CHECKING:
    import pandas as pd
    from onnx import ModelProto

VALUES = "values"
"""The input of the networks: rows as `Table` holds them, with -1 for a category that is missing."""
N_ROWS = 3
"""In the example that the export looks at; another number than 1, which would be taken for a constant."""
OF_CATEGORIES = "ai.onnx.ml"


def to_onnx(model: Model, file: Path) -> None:
    """See `Model.to_onnx`."""
    try:
        import onnx
        import onnxscript  # noqa: F401 - torch's exporter needs it
    except ModuleNotFoundError as error:
        raise UsageError(
            f"ONNX export needs the package {error.name}: install it with `pip install scarf-lightning[onnx]`."
        ) from error
    exported = _exported(model)
    _take_columns(exported, model)
    if model.classes:
        _give_labels(exported, model.classes)
    exported.metadata_props.add(key="classes", value=json.dumps(model.classes))
    exported.metadata_props.add(key="trials", value=json.dumps(model.trials))
    onnx.checker.check_model(exported)
    try:
        onnx.save(exported, file)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror or error}.") from error


def inputs(model: Model, rows: "pd.DataFrame") -> dict[str, np.ndarray[Any, Any]]:
    """What an ONNX session of the model is given for n rows: ``session.run(None, inputs(model, rows))``.

    Raises:
        UsageError: see `Reader`.
    """
    reader = model.description.reader
    given: dict[str, np.ndarray[Any, Any]] = {}
    for name, column, values in zip(_names(model), reader.columns, reader.values(rows).T, strict=True):
        if column.categories is None:
            given[name] = values[:, None]
        else:
            categories = np.array([*column.categories, ""], dtype=object)  # the last is for what is missing
            given[name] = categories[np.nan_to_num(values, nan=-1).astype(np.int64)][:, None]
    return given


class Voters(nn.Module):
    """The networks of T trials as plain ones, with imputation and scaling before them.

    **Shape.** Rows ``(n, M)``, float64, codes in categorical columns and -1 or NaN where missing, to mean probabilities
    ``(n, C)``, or to embeddings side by side ``(n, T * E)``.
    """

    is_categorical: Tensor

    def __init__(self, model: Model) -> None:
        super().__init__()
        columns = model.description.reader.columns
        self.one_hot = OneHot([column.n_indicators for column in columns])
        self.encoders = nn.ModuleList(unlift(model.encoder.body, model.plain_encoders()))
        self.heads = nn.ModuleList(unlift(model.classifier.head, model.plain_heads()) if model.classes else [])
        self.dtype = next(model.encoder.parameters()).dtype
        self.register_buffer("is_categorical", torch.tensor([column.is_categorical for column in columns]))
        for name in ("fill", "shift", "scale"):
            self.register_buffer(name, torch.from_numpy(np.array(getattr(model.preprocessing, name))))

    def forward(self, values: Tensor) -> Tensor:
        is_missing = values.isnan() | (self.is_categorical & (values < 0))
        embedded = []
        for t, encoder in enumerate(self.encoders):
            filled = torch.where(is_missing, self.fill[t], values)  # type: ignore[index]
            scaled = ((filled - self.shift[t]) * self.scale[t]).to(self.dtype)  # type: ignore[index]
            embedded.append(encoder(self.one_hot(scaled)))
        if not len(self.heads):
            return torch.cat(embedded, dim=1)
        given = [head(each).double().softmax(dim=-1) for head, each in zip(self.heads, embedded, strict=True)]
        return torch.stack(given).mean(dim=0)


def _exported(model: Model) -> "ModelProto":
    """The networks as torch exports them."""
    voters = Voters(model).eval()
    example = torch.zeros(N_ROWS, len(model.description.reader.columns), dtype=torch.float64)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # of torch, on its own inside
        program = torch.onnx.export(
            voters,
            (example,),
            input_names=[VALUES],
            output_names=["probabilities" if model.classes else "embeddings"],
            dynamic_shapes={VALUES: {0: torch.export.Dim("n")}},
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    return program.model_proto


def _take_columns(exported: "ModelProto", model: Model) -> None:
    """Put the columns in the place of the matrix of their values."""
    from onnx import TensorProto, helper

    graph, nodes, parts, taken = exported.graph, [], [], []
    for name, column in zip(_names(model), model.description.reader.columns, strict=True):
        kind = TensorProto.DOUBLE if column.categories is None else TensorProto.STRING
        taken.append(helper.make_tensor_value_info(name, kind, ["n", 1]))
        if column.categories is None:
            parts.append(name)
            continue
        parts.append(f"{name} as number")
        codes: dict[str, Any] = {"values_floats": [float(code) for code in range(len(column.categories))]}
        nodes += [
            helper.make_node(
                "LabelEncoder",
                [name],
                [f"{name} as code"],
                domain=OF_CATEGORIES,
                keys_strings=list(column.categories),
                default_float=-1.0,
                **codes,
            ),
            helper.make_node("Cast", [f"{name} as code"], [parts[-1]], to=TensorProto.DOUBLE),
        ]
    nodes.append(helper.make_node("Concat", parts, [VALUES], axis=1))
    kept = [*nodes, *graph.node]
    del graph.input[:], graph.node[:]
    graph.input.extend(taken)
    graph.node.extend(kept)
    exported.opset_import.append(helper.make_opsetid(OF_CATEGORIES, 2))


def _give_labels(exported: "ModelProto", classes: Sequence[str]) -> None:
    """Add the most probable class as an output, before the probabilities."""
    from onnx import TensorProto, helper

    graph = exported.graph
    codes = list(range(len(classes)))
    graph.node.extend(
        [
            helper.make_node("ArgMax", ["probabilities"], ["label as code"], axis=1, keepdims=0),
            helper.make_node(
                "LabelEncoder",
                ["label as code"],
                ["label"],
                domain=OF_CATEGORIES,
                keys_int64s=codes,
                values_strings=list(classes),
            ),
        ]
    )
    given = [helper.make_tensor_value_info("label", TensorProto.STRING, ["n"]), *graph.output]
    del graph.output[:]
    graph.output.extend(given)


def _names(model: Model) -> list[str]:
    """The columns' names, each once: of those that are there twice the later ones have a number."""
    names: list[str] = []
    for column in model.description.reader.columns:
        name, number = column.name, 2
        while name in names:
            name, number = f"{column.name} {number}", number + 1
        names.append(name)
    return names
