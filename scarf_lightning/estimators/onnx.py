"""A model as an ONNX file for other languages and servers, with imputation, scaling and categories inside.

The file has an input ``(n, 1)`` for each column of the table. A numeric column is float64, NaN where missing. A
categorical column is a string; a string that is not a category, such as the empty one, counts as missing. The outputs
are ``label`` ``(n,)``, in the type of the labels that were learned, and ``probabilities`` ``(n, C)``; the ``number``
``(n,)``; or ``embeddings`` ``(n, T * E)`` of encoders alone. Whole numbers are int64, times are text.

Text and dates must be read before: `inputs` reads rows for the file. Where a model refuses rows, a file cannot: an
infinite number gives NaN as probabilities, and the first class as label.
"""

import json
import logging
import warnings
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from ..data.device_table import imputed_and_scaled
from ..errors import UsageError
from ..importing import require
from ..networks import Columns, OneHot
from .trained_networks import TrainedNetworks, named

if TYPE_CHECKING:
    import pandas as pd
    from onnx import ModelProto

INSIDE = "networks/"
"""Begins the names of all that is no input or output, so that a column may have any other name."""
VALUES = f"{INSIDE}values"
"""The input of the networks: rows as `Table` holds them, with -1 for a missing category."""
OUTPUTS = ("label", "probabilities", "number", "embeddings")
N_ROWS = 3
"""In the example that torch traces. A single row would be traced as a constant."""
OF_CATEGORIES = "ai.onnx.ml"


def to_onnx(model: TrainedNetworks, file: Path) -> None:
    """See `Model.to_onnx`."""
    for package in ("onnx", "onnxscript"):
        # Torch's exporter needs the latter.
        require(package, "ONNX export")
    if "dynamic_shapes" not in signature(torch.onnx.export).parameters:
        raise UsageError(
            f"ONNX export needs torch 2.5 or newer, and this is torch {torch.__version__}: pip install 'torch>=2.5'."
        )
    import onnx

    exported = _exported(model)
    _take_columns(exported, model)
    if model.classes:
        _give_labels(exported, model)
    # Names of classes have no place in the outputs, so a reader of the file finds them in its metadata.
    exported.metadata_props.add(key="classes", value=json.dumps(model.classes))
    exported.metadata_props.add(key="trials", value=json.dumps(model.description.trials))
    onnx.checker.check_model(exported)
    try:
        onnx.save(exported, file)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror or error}.") from error


def inputs(model: TrainedNetworks, rows: "pd.DataFrame") -> dict[str, np.ndarray[Any, Any]]:
    """The inputs of an ONNX session for n rows: ``session.run(None, inputs(model, rows))``."""
    given: dict[str, np.ndarray[Any, Any]] = {}
    columns = model.values(rows).T
    for m, name in enumerate(_names(model)):
        column = model.description.columns[m]
        values = columns[m]
        if column.categories is not None:
            # The empty text is no category, and so missing.
            values = named(column, values, "")
        given[name] = values[:, None]
    return given


class Voters(nn.Module):
    """The networks of T trials one by one, with imputation and scaling in front of them.

    **Shape.** Rows ``(n, M)``, float64, with codes in categorical columns and -1 or NaN where missing, to mean
    probabilities ``(n, C)`` or numbers ``(n,)``, or to embeddings side by side ``(n, T * E)``.
    """

    is_categorical: Tensor
    fill: Tensor
    shift: Tensor
    scale: Tensor

    def __init__(self, model: TrainedNetworks) -> None:
        super().__init__()
        columns = model.description.columns
        encoders, heads = model.one_by_one()
        encoded = Columns.of(columns)
        self.one_hot = OneHot(encoded.n_categories, encoded.gaps)
        self.encoders = nn.ModuleList(encoders)
        self.heads = nn.ModuleList(heads)
        self.target = model.description.predicts
        self.dtype = model.dtype
        # Most classes are in their order already.
        self.order = None
        if model.order != sorted(model.order):
            self.order = model.order
        is_categorical = [column.is_categorical for column in columns]
        self.register_buffer("is_categorical", torch.tensor(is_categorical))
        self.names = [name for name in model.preprocessing.arrays() if name != "target"]
        for name in self.names:
            vectors = np.array(getattr(model.preprocessing, name))
            self.register_buffer(name, torch.from_numpy(vectors))
        self.fitted = torch.from_numpy(np.array(model.preprocessing.target))

    def forward(self, values: Tensor) -> Tensor:
        # Imputation fills NaN alone, and a missing category has the code -1.
        values = torch.where(self.is_categorical & (values < 0), torch.nan, values)
        embedded = []
        for t, encoder in enumerate(self.encoders):
            own = {name: getattr(self, name)[t] for name in self.names}
            # Imputed and scaled in float64, as the model does, and computed on in its own precision.
            scaled = imputed_and_scaled(values, own)
            encoded = self.one_hot(scaled.to(self.dtype))
            embedded.append(encoder(encoded))
        if self.target is None:
            return torch.cat(embedded, dim=1)
        outputs = []
        for head, embeddings in zip(self.heads, embedded, strict=True):
            outputs.append(head(embeddings).double())
        each = self.target.predictions(torch.stack(outputs), self.fitted)
        mean = each.mean(dim=0)
        if self.order is None:
            return mean
        return mean[:, self.order]


def _exported(model: TrainedNetworks) -> "ModelProto":
    """The networks as torch exports them, without names of columns and classes."""
    voters = Voters(model).eval()
    output = "number"
    if voters.target is None:
        output = "embeddings"
    elif model.classes:
        output = "probabilities"
    example = torch.zeros(N_ROWS, len(model.description.columns), dtype=torch.float64)
    # The exporter warns of steps that say nothing to a user.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings(), torch.no_grad():
        # Torch warns of its own code.
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            voters,
            (example,),
            input_names=[VALUES],
            output_names=[output],
            dynamic_shapes=({0: torch.export.Dim("n")},),
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    exported = program.model_proto
    _rename(exported, {VALUES, output})
    return exported


def _rename(exported: "ModelProto", kept: set[str]) -> None:
    """Give all values inside the graph names that no column has."""

    def renamed(name: str) -> str:
        # An empty name is an input that is left out.
        if name in kept or not name:
            return name
        return f"{INSIDE}{name}"

    graph = exported.graph
    for node in graph.node:
        node.input[:] = [renamed(name) for name in node.input]
        node.output[:] = [renamed(name) for name in node.output]
    for value in (*graph.initializer, *graph.value_info):
        value.name = renamed(value.name)


def _take_columns(exported: "ModelProto", model: TrainedNetworks) -> None:
    """Replace the input matrix by an input for each column."""
    from onnx import TensorProto, helper

    graph = exported.graph
    nodes, parts, taken = [], [], []
    for name, column in zip(_names(model), model.description.columns, strict=True):
        if column.categories is None:
            taken.append(helper.make_tensor_value_info(name, TensorProto.DOUBLE, ["n", 1]))
            parts.append(name)
            continue
        taken.append(helper.make_tensor_value_info(name, TensorProto.STRING, ["n", 1]))
        code, number = f"{INSIDE}{name} as code", f"{INSIDE}{name} as number"
        codes: dict[str, Any] = {
            "keys_strings": list(column.categories),
            "values_floats": [float(each) for each in range(len(column.categories))],
            "default_float": -1.0,
        }
        # The encoder gives float32, which holds these codes exactly.
        nodes.append(helper.make_node("LabelEncoder", [name], [code], domain=OF_CATEGORIES, **codes))
        nodes.append(helper.make_node("Cast", [code], [number], to=TensorProto.DOUBLE))
        parts.append(number)
    nodes.append(helper.make_node("Concat", parts, [VALUES], axis=1))
    # These nodes come before those that use what they make.
    kept = [*nodes, *graph.node]
    del graph.input[:], graph.node[:]
    graph.input.extend(taken)
    graph.node.extend(kept)
    exported.opset_import.append(helper.make_opsetid(OF_CATEGORIES, 2))


def _give_labels(exported: "ModelProto", model: TrainedNetworks) -> None:
    """Add the most probable class as the first output."""
    from onnx import helper, numpy_helper

    labels = model.classes_
    if labels.dtype.kind == "i":
        labels = labels.astype(np.int64)
    elif labels.dtype.kind not in "bfu":
        labels = np.array(model.classes, dtype=object)
    # Labels of other types, such as times, are text in the file.
    known = numpy_helper.from_array(labels, f"{INSIDE}labels")
    code = f"{INSIDE}label as code"
    graph = exported.graph
    graph.initializer.append(known)
    # Of a tie the first class is chosen, as by the model.
    most_probable = helper.make_node("ArgMax", ["probabilities"], [code], axis=1, keepdims=0)
    typed_label = helper.make_node("Gather", [known.name, code], ["label"])
    graph.node.extend([most_probable, typed_label])
    label = helper.make_tensor_value_info("label", known.data_type, ["n"])
    given = [label, *graph.output]
    del graph.output[:]
    graph.output.extend(given)


def _names(model: TrainedNetworks) -> list[str]:
    """The names of the columns. If a name occurs twice, or is that of an output, the later one gets a number."""
    names: list[str] = []
    for column in model.description.columns:
        name = column.name
        number = 2
        while name in names or name in OUTPUTS:
            name = f"{column.name} {number}"
            number += 1
        names.append(name)
    return names
