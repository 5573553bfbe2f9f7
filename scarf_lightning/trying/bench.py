"""The bench on which a part is tried: a cell that trains on a small table with the part in its place, and questions.

They are of shapes and types, finite numbers, the same numbers in any company, and a gradient to every weight. Each call
of a part within the real stack is looked at, and then what training ended with.
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
    plain = pd.DataFrame(numbers.T, columns=list("abcd"))
    mixed = plain[["a", "b"]].mask(numbers[2:].T > 2)
    mixed["colour"] = np.array(["red", "green", "blue", None])[random.integers(4, size=N_ROWS)]

    def table(title: str, frame: pd.DataFrame) -> Table:
        return Table.from_frame(
            frame, pd.Series(labels.astype(str), name="y"), categorical=[each == "colour" for each in frame],
            name=title, source=title, split_by=np.arange(N_ROWS, dtype=np.float64) % 10,
        )  # fmt: skip

    return table("a table of numbers", plain), table("a table with categories and gaps", mixed)


def tables_for(part: Any) -> tuple[Table, ...]:
    """The tables, with a target that a part serves."""
    if Classes.is_among(getattr(part, "targets", ())):
        return tables()
    return tuple(replace(each, labels=each.labels.astype(float), target=Number("y")) for each in tables())


def made(cls: type[Any], **chosen: Any) -> Any:
    """A part with its defaults, the ``chosen`` parts, and usual ones in its other fields without a default."""
    kinds = get_type_hints(cls)
    for field in fields(cls):
        name = field.name
        if field.default is MISSING and name not in chosen and name in USUAL:
            known = parts("pretrain" if name == "pretext" else name)
            in_turn = [known[USUAL[name]], *known.values()]
            chosen[name] = made(next(each for each in in_turn if issubclass(each, kinds[name])))
    return cls(**chosen)


def pretext_of(axis: str, part: Any) -> Any:
    """The pre-training that a part is tried in: SCARF, if it takes it.

    Raises:
        UsageError: no pre-training takes it.
    """
    if axis == "pretrain":
        return part
    known, chosen = parts("pretrain"), {axis: part} if axis in USUAL else {}
    for cls in (known[USUAL["pretext"]], *known.values()):
        if not chosen or isinstance(part, get_type_hints(cls).get(axis, ())):
            return made(cls, **chosen)
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
        wanted: the trials and rows to predict.
    """

    def __init__(self, axis: str, part: Any, table: Table, trials: tuple[int, ...]) -> None:
        chosen: dict[str, Any] = {
            "regime": Full(),
            "scaling": ZScore(),
            "encoding": OneHotEncoding(),
            "split": Random(),
            "network": MLP(WIDTH),
            "method": Control(),
            axis: part,
        }
        encoded, streams = chosen["encoding"].encode(table), Streams(SEED, table.n_labelled)
        data = prepare_trials(
            encoded,
            trials,
            streams,
            RowRules(chosen["regime"], chosen["split"]),
            scaling=chosen["scaling"],
            fit_on="train",
        )
        stack = Stack(encoded, data, streams, Hardware(torch.device("cpu")), chosen["network"], NetworkSettings())
        self.initial, self.results = dict[str, Tensor](), dict[str, Tensor]()
        start, self.diverged, self.wanted = None, False, data.test.shape
        if chosen["method"].pretrainable:
            pretext = pretext_of(axis, part)
            f, g = stack.networks.encoder(trials).body, stack.networks.pretrain_head(trials, pretext)
            for place, network in (("encoder.body", f), ("head", g)):
                self.initial |= {f"{place}.{name}": each.detach() for name, each in network.named_parameters()}
            fit = stack.pretrain(PRETRAIN, pretext)
            start, self.diverged = fit.part("encoder"), bool(fit.diverged.any())
            self.results |= fit.weights
        # Of two rows among others, and alone.
        self.embeddings = stack.embed(data.test, start)[:, :2], stack.embed(data.test[:, :2], start)
        outcome = chosen["method"].run(stack, SupervisedPhase(FINETUNE, start))
        self.diverged |= bool(outcome.diverged.any())
        self.results["predictions"] = torch.from_numpy(outcome.predictions)


class WrongError(Exception):
    """A part is wrong, in words that follow its name."""


def check_tensor(value: Any, what: str, shape: Sequence[int], dtype: torch.dtype) -> None:
    """Refuse what a part gave if it is no finite tensor of this shape and type."""
    if value.shape != shape or value.dtype is not dtype:
        raise WrongError(
            f"gives {what} of shape {tuple(value.shape)} and type {value.dtype}; it has to be a tensor of shape "
            f"{tuple(shape)} and type {dtype}"
        )
    check_finite(value, what)


def check_finite(value: Tensor, what: str) -> None:
    """Refuse NaN and infinite numbers."""
    wrong = ~value.isfinite()
    if wrong.any():
        place = f", in column {int(wrong.nonzero()[0, -1]) + 1}" if value.dim() > 1 else ""
        raise WrongError(f"gives {value[wrong][0].item()} in {what}{place}")


def check_values(given: Sequence[Any], result: Any) -> None:
    check_tensor(result, "values", result.shape, given[0].dtype)


def check_view(given: Sequence[Any], result: Any) -> bool:
    """A view has the shape of the rows, and codes of categories stay codes. Tells whether it differs from the rows."""
    (x, source), (view, mask) = given[:2], result
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


def check_mask(given: Sequence[Any], result: Any) -> None:
    _, n_rows, n_features, random = given
    check_tensor(result, "a mask", (len(random), n_rows, n_features), torch.bool)
    if not result.any():
        raise WrongError("selects nothing, so views are the rows themselves")


def check_loss(given: Sequence[Any], result: Any) -> None:
    # A method may leave the loss to the target.
    if result is not None:
        check_tensor(result, "a loss", next(arrays(given)).shape[:1], result.dtype)


def check_views(given: Sequence[Any], result: Any) -> None:
    encoded = given[0].encoded
    for each in result.inputs:
        check_tensor(each, "an input", encoded.shape, encoded.dtype)


def check_batch(given: Sequence[Any], result: Any) -> None:
    (inputs, _, _), encoded = result, given[0].encoded
    check_tensor(inputs, "inputs", (*inputs.shape[:-1], encoded.shape[-1]), encoded.dtype)


def check_module(given: Sequence[Any], result: Any) -> None:
    """Torch knows all layers and weights of a module, and no layer mixes trials."""
    for module in result.modules():
        for layer, ours in OURS.items():
            if isinstance(module, layer):
                raise WrongError(f"has a torch.nn.{type(module).__name__}; take scarf_lightning.networks.{ours}")
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
"""The functions of each kind of part whose calls are looked at: a check of the arguments and the result, which tells of
a view whether it differs, and what has to be returned."""


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
        for each in value:
            yield from arrays(each)


def called(function: Callable[..., Any], *given: Any) -> Any:
    """What a function returns, if it leaves its arguments as they are."""
    before = [(each, torch.as_tensor(each).detach().clone()) for each in arrays(given)]
    result = function(*given)
    if not all(same(torch.as_tensor(each), kept) for each, kept in before):
        raise WrongError("changes what it is given in place; begin with a copy, as in x = x.clone()")
    return result


def watch(part: Any, axis: str) -> list[bool | None]:
    """From here on look at each call of a part's functions; gives what their checks return."""
    found = list[bool | None]()

    def watching(name: str, check: Callable[..., bool | None], returns: str) -> Callable[..., Any]:
        function = getattr(cls, name)

        def call(part: Any, *given: Any) -> Any:
            result = called(partial(function, part), *given)
            try:
                found.append(check(given, result))
            except (AttributeError, TypeError, ValueError) as error:
                gives = type(result).__name__
                raise WrongError(f"returns a {gives} from {name}; it has to return {returns}") from error
            return result

        return call

    cls = type(part)
    calls = {name: watching(name, *how) for name, how in CALLS.get(axis, {}).items() if hasattr(cls, name)}
    # A special function such as __call__ is looked up in the class alone.
    part.__class__ = type(cls.__name__, (cls,), {"__module__": cls.__module__, **calls})
    return found


def check_trained(trained: Trained) -> None:
    """Predictions of the rows that are asked for, finite numbers, and weights that have learnt."""
    predictions = trained.results["predictions"]
    if predictions.shape[:2] != trained.wanted:
        raise WrongError(f"predicts {tuple(predictions.shape[:2])} trials and rows, and not {trained.wanted}")
    if trained.diverged:
        raise WrongError("makes a loss or a gradient that is not finite")
    check_finite(predictions, "its predictions")
    for name, weight in trained.initial.items():
        # A bias may cancel in a loss of differences.
        if weight.numel() and not name.endswith("bias") and same(weight, trained.results[name]):
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
        for position, trained in alone.items():
            pair = value[position], trained.results[name][0]
            if not (same(*pair) if is_exact else torch.allclose(*pair, ROUNDING, ROUNDING)):
                raise WrongError(
                    f"gives a trial other numbers in {name} alone than among others; count axes from the right, as in "
                    "dim=-2 for rows, and keep nothing between calls"
                )


def same(first: Tensor, second: Tensor) -> bool:
    """True if two tensors have the same bits, NaN at the same places."""
    return torch.equal(first.detach().nan_to_num(7e7), second.detach().nan_to_num(7e7))
