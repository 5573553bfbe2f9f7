"""The bench on which a part is tried: a cell that trains on a small table with the part in its place, and checks.

The checks are of shapes and types, finite numbers, the same numbers in any company, and a gradient to every weight.
They look at each call of a part within the real stack, and then at the result of the training.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cache, partial
from typing import Any, get_type_hints

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from ..data.preprocessing import OneHotEncoding, ZScore
from ..data.splits import Random
from ..data.table import Table
from ..data.targets import Classes, Number
from ..data.trials import Full, RowRules, prepare_trials
from ..engine.hardware import Hardware, Promise, promise
from ..engine.pretext_task import BatchRows, CorruptionSource
from ..engine.stack import Stack
from ..errors import UsageError
from ..methods import SupervisedPhase
from ..methods.fine_tuning import Control
from ..networks.mlp import MLP
from ..options.axes import parts
from ..options.settings import FinetuneSettings, NetworkSettings, PretrainSettings
from ..randomness import Streams

N_ROWS, WIDTH = 60, 8
SEED = 20_261_126
"""Of all trials. A part that seeds a generator by itself hardly takes the same."""
TRIALS = (0, 1, 2)
PRETRAIN = PretrainSettings(max_epochs=3, batch_size=8, patience=None, validation_passes=2)
FINETUNE = FinetuneSettings(max_epochs=2, batch_size=8, patience=None)
USUAL = {"corruption": "marginal", "selection": "exact", "loss": "infonce", "pretext": "scarf"}
"""The parts in fields of others, by the field; the pretext's axis has another name."""
ROUNDING = 1e-2
"""Relative and absolute difference of a trial alone on a processor that rounds products by their company."""
OURS = {nn.modules.dropout._DropoutNd: "Dropout", nn.modules.batchnorm._BatchNorm: "BatchNorm"}
"""Layers of torch that mix trials, and the layers of scarf_lightning.networks that do not."""
OF_TORCH = vars(nn.Module())
"""Attributes of every module, in which torch keeps what it has registered."""


@cache
def tables() -> tuple[Table, Table]:
    """A table of numbers, and one with categories and gaps, each with groups for splits that go by them."""
    random = np.random.default_rng(SEED)
    labels = random.integers(3, size=N_ROWS)
    numbers = random.normal(size=(4, N_ROWS)) + labels
    number_frame = pd.DataFrame(numbers.T, columns=list("abcd"))
    mixed_frame = number_frame[["a", "b"]].mask(numbers[2:].T > 2)
    mixed_frame["colour"] = np.array(["red", "green", "blue", None])[random.integers(4, size=N_ROWS)]

    def table(title: str, frame: pd.DataFrame) -> Table:
        return Table.from_frame(
            frame, pd.Series(labels.astype(str), name="y"), categorical=[column == "colour" for column in frame],
            name=title, source=title, split_by=np.arange(N_ROWS, dtype=np.float64) % 10,
        )  # fmt: skip

    return table("a table of numbers", number_frame), table("a table with categories and gaps", mixed_frame)


def tables_for(part: Any) -> tuple[Table, ...]:
    """The tables, with a target that a part serves."""
    if Classes.is_among(getattr(part, "targets", ())):
        return tables()
    return tuple(replace(table, labels=table.labels.astype(float), target=Number("y")) for table in tables())


def make_part(cls: type[Any], **arguments: Any) -> Any:
    """A part with its defaults, these arguments, and usual parts in its other fields without a default."""
    kinds = get_type_hints(cls)
    for field in fields(cls):
        name = field.name
        if field.default is MISSING and name not in arguments and name in USUAL:
            choices = parts("pretrain" if name == "pretext" else name)
            candidates = [choices[USUAL[name]], *choices.values()]
            arguments[name] = make_part(
                next(candidate for candidate in candidates if issubclass(candidate, kinds[name]))
            )
    return cls(**arguments)


def pretext_of(axis: str, part: Any) -> Any:
    """The pre-training that a part is tried in: SCARF, if it takes it.

    Raises:
        UsageError: no pre-training takes it.
    """
    if axis == "pretrain":
        return part
    choices, arguments = parts("pretrain"), {axis: part} if axis in USUAL else {}
    for cls in (choices[USUAL["pretext"]], *choices.values()):
        if not arguments or isinstance(part, get_type_hints(cls).get(axis, ())):
            return make_part(cls, **arguments)
    raise UsageError(
        f"no pre-training takes this {axis}; inherit from scarf_lightning.losses.ContrastiveLoss, or from "
        "Reconstruction or Discrimination of scarf_lightning.losses.loss"
    )


class Trained:
    """A cell with a part of an axis in its place, after its phases.

    Attributes:
        initial: the weights of f and g before pre-training, by their name, ``(T, ...)``.
        results: the same at its end, and the predictions.
        diverged: whether a trial lost its loss.
        embeddings: of two test rows among others, and alone.
        test_shape: the numbers of trials and rows to predict.
    """

    def __init__(self, axis: str, part: Any, table: Table, trials: tuple[int, ...]) -> None:
        cell_parts: dict[str, Any] = {
            "regime": Full(),
            "scaling": ZScore(),
            "encoding": OneHotEncoding(),
            "split": Random(),
            "network": MLP(WIDTH),
            "method": Control(),
            axis: part,
        }
        encoded_table, streams = cell_parts["encoding"].encode(table), Streams(SEED, table.n_labelled)
        data = prepare_trials(
            encoded_table,
            trials,
            streams,
            RowRules(cell_parts["regime"], cell_parts["split"]),
            scaling=cell_parts["scaling"],
            fit_on="train",
        )
        stack = Stack(
            encoded_table, data, streams, Hardware(torch.device("cpu")), cell_parts["network"], NetworkSettings()
        )
        self.initial, self.results = dict[str, Tensor](), dict[str, Tensor]()
        start, self.diverged, self.test_shape = None, False, data.test.shape
        if cell_parts["method"].pretrainable:
            pretext = pretext_of(axis, part)
            f, g = stack.networks.encoder(trials).body, stack.networks.pretrain_head(trials, pretext)
            for place, network in (("encoder.body", f), ("head", g)):
                self.initial |= {f"{place}.{name}": weight.detach() for name, weight in network.named_parameters()}
            fit = stack.pretrain(PRETRAIN, pretext)
            start, self.diverged = fit.part("encoder"), bool(fit.diverged.any())
            self.results |= fit.weights
        # Of two rows among others, and alone.
        self.embeddings = stack.embed(data.test, start)[:, :2], stack.embed(data.test[:, :2], start)
        outcome = cell_parts["method"].run(stack, SupervisedPhase(FINETUNE, start))
        self.diverged |= bool(outcome.diverged.any())
        self.results["predictions"] = torch.from_numpy(outcome.predictions)


class WrongError(Exception):
    """A part is wrong, in words that follow its name."""


def check_tensor(value: Any, role: str, shape: Sequence[int], dtype: torch.dtype) -> None:
    """Refuse what a part gave if it is no finite tensor of this shape and type."""
    if value.shape != shape or value.dtype is not dtype:
        raise WrongError(
            f"gives {role} of shape {tuple(value.shape)} and type {value.dtype}; it has to be a tensor of shape "
            f"{tuple(shape)} and type {dtype}"
        )
    check_finite(value, role)


def check_finite(value: Tensor, role: str) -> None:
    """Refuse NaN and infinite numbers."""
    is_wrong = ~value.isfinite()
    if is_wrong.any():
        place = f", in column {int(is_wrong.nonzero()[0, -1]) + 1}" if value.dim() > 1 else ""
        raise WrongError(f"gives {value[is_wrong][0].item()} in {role}{place}")


def check_values(arguments: Sequence[Any], result: Any) -> None:
    check_tensor(result, "values", result.shape, arguments[0].dtype)


def check_view(arguments: Sequence[Any], result: Any) -> bool:
    """A view has the shape of the rows, and codes of categories stay codes. True if it differs from the rows."""
    (x, source), (view, mask) = arguments[:2], result
    check_tensor(view, "a view", x.shape, x.dtype)
    check_tensor(mask, "a mask", x.shape, torch.bool)
    n_categories = source.columns.n_categories
    for column, n in enumerate(n_categories if x.shape[-1] == len(n_categories) else ()):
        if n and not torch.isin(view[..., column], torch.arange(n)).all():
            raise WrongError(
                f"gives a value in the column {column + 1} that is none of its categories 0 to {n - 1}: with "
                'space="raw" values may be exchanged, not averaged; leave space out to work on encoded columns'
            )
    return not torch.equal(view, x)


def check_mask(arguments: Sequence[Any], result: Any) -> None:
    _, n_rows, n_features, random = arguments
    check_tensor(result, "a mask", (len(random), n_rows, n_features), torch.bool)
    if not result.any():
        raise WrongError("selects nothing, so views are the rows themselves")


def check_loss(arguments: Sequence[Any], result: Any) -> None:
    # A method may leave the loss to the target.
    if result is not None:
        check_tensor(result, "a loss", next(arrays(arguments)).shape[:1], result.dtype)


def check_views(arguments: Sequence[Any], result: Any) -> None:
    encoded = arguments[0].encoded
    for view in result.inputs:
        check_tensor(view, "an input", encoded.shape, encoded.dtype)


def check_batch(arguments: Sequence[Any], result: Any) -> None:
    (inputs, _, _), encoded = result, arguments[0].encoded
    check_tensor(inputs, "inputs", (*inputs.shape[:-1], encoded.shape[-1]), encoded.dtype)


def check_module(arguments: Sequence[Any], result: Any) -> None:
    """Torch has registered all layers and weights of a module, and no layer mixes trials."""
    for module in result.modules():
        for layer, replacement in OURS.items():
            if isinstance(module, layer):
                raise WrongError(f"has a torch.nn.{type(module).__name__}; take scarf_lightning.networks.{replacement}")
        check_hidden(module)


def check_hidden(owner: Any) -> None:
    """Refuse layers and weights in attributes of a module or a part, or of its class, that no optimiser gets."""
    for place in (owner, *type(owner).__mro__):
        for name, value in vars(place).items():
            if name not in OF_TORCH and _is_hidden(value):
                raise WrongError(
                    f"keeps layers or weights in {type(owner).__name__}.{name}, where torch does not see them, so they "
                    "would never learn; put layers into nn.ModuleList or nn.ModuleDict, tensors into nn.Parameter, in "
                    "the module of a network or of a pre-training's head"
                )


def _is_hidden(value: Any) -> bool:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return any(map(_is_hidden, value))
    return isinstance(value, nn.Module) or (isinstance(value, Tensor) and value.requires_grad)


A_LOSS = "a tensor (...), an average over the last axes as by .mean(dim=(-2, -1))"
CALLS: dict[str, dict[str, tuple[Callable[..., bool | None], str]]] = {
    "corruption": {
        "__call__": (check_view, "the view and the mask, two tensors of the shape of x"),
        "replacement": (check_values, "the values, a tensor that broadcasts to x"),
    },
    "selection": {"mask": (check_mask, "a mask, a tensor of bool (..., n_rows, n_features)")},
    "loss": {"__call__": (check_loss, A_LOSS), "error": (check_loss, A_LOSS)},
    "pretrain": {
        "make_views": (check_views, "Views(inputs=(...), targets=(...)), two tuples of tensors (..., N, ...)"),
        "compute_loss": (check_loss, A_LOSS),
        "head": (check_module, "a torch.nn.Module"),
    },
    "scaling": {"statistics": (lambda *_: None, "")},
    "network": {"build": (check_module, "a torch.nn.Module"), "head": (check_module, "a torch.nn.Module")},
    "method": {
        "make_batch": (check_batch, "inputs, targets and weights, a tuple of three"),
        "compute_loss": (check_loss, A_LOSS),
        "run": (lambda *_: None, ""),
    },
}
"""The functions of each kind of part whose calls are checked: the check of arguments and result, which for a view
returns whether it differs, and what the function has to return."""


def arrays(value: Any) -> Iterator[Any]:
    """The tensors and arrays that a part may reach through an argument."""
    if isinstance(value, (Tensor, np.ndarray)):
        yield value
        return
    if isinstance(value, BatchRows):
        value = [value.encoded]
    elif isinstance(value, CorruptionSource):
        value = [value.mean()]
    elif isinstance(value, Mapping):
        value = list(value.values())
    elif is_dataclass(value):
        value = [getattr(value, field.name) for field in fields(value)]
    if isinstance(value, (list, tuple)):
        for element in value:
            yield from arrays(element)


def call_checked(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function, and make sure that it leaves its arguments as they are."""
    before = [(array, torch.as_tensor(array).detach().clone()) for array in arrays(arguments)]
    result = function(*arguments)
    if not all(same(torch.as_tensor(array), snapshot) for array, snapshot in before):
        raise WrongError("changes what it is given in place; begin with a copy, as in x = x.clone()")
    return result


def watch(part: Any, axis: str) -> list[bool | None]:
    """Check each later call of a part's functions. Returns a list that the results of the checks are added to."""
    outcomes = list[bool | None]()

    def watching(name: str, check: Callable[..., bool | None], returns: str) -> Callable[..., Any]:
        function = getattr(cls, name)

        def call(part: Any, *arguments: Any) -> Any:
            result = call_checked(partial(function, part), *arguments)
            try:
                outcomes.append(check(arguments, result))
            except (AttributeError, TypeError, ValueError) as error:
                kind = type(result).__name__
                raise WrongError(f"returns a {kind} from {name}; it has to return {returns}") from error
            return result

        return call

    cls = type(part)
    calls = {name: watching(name, *how) for name, how in CALLS.get(axis, {}).items() if hasattr(cls, name)}
    # A special function such as __call__ is looked up in the class alone.
    part.__class__ = type(cls.__name__, (cls,), {"__module__": cls.__module__, **calls})
    return outcomes


def check_trained(cell: Trained) -> None:
    """Predictions of all test rows, finite numbers, and weights that have learnt."""
    predictions = cell.results["predictions"]
    if predictions.shape[:2] != cell.test_shape:
        raise WrongError(f"predicts {tuple(predictions.shape[:2])} trials and rows, and not {cell.test_shape}")
    if cell.diverged:
        raise WrongError("makes a loss or a gradient that is not finite")
    check_finite(predictions, "its predictions")
    for name, weight in cell.initial.items():
        # A bias may cancel in a loss of differences.
        if weight.numel() and not name.endswith("bias") and same(weight, cell.results[name]):
            raise WrongError(f"lets no gradient reach the weight {name}, so it does not learn")


def check_company(among: Trained, alone: Mapping[int, Trained], again: Trained) -> None:
    """The same numbers when all is done once more, and in the trials that train alone."""
    is_exact = promise(torch.device("cpu"), "32-true") is Promise.EXACT
    for name, value in among.results.items():
        if not same(value, again.results[name]):
            raise WrongError(
                f"gives other numbers in {name} when it is called again; it may keep nothing between calls, and draws "
                "random numbers only from the generator that it is given"
            )
        for position, cell in alone.items():
            pair = value[position], cell.results[name][0]
            if not (same(*pair) if is_exact else torch.allclose(*pair, ROUNDING, ROUNDING)):
                raise WrongError(
                    f"gives a trial other numbers in {name} alone than among others; count axes from the right, as in "
                    "dim=-2 for rows, and keep nothing between calls"
                )


def same(first: Tensor, second: Tensor) -> bool:
    """True if two tensors have the same bits, NaN at the same places."""
    return torch.equal(first.detach().nan_to_num(7e7), second.detach().nan_to_num(7e7))
