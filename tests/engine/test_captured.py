"""The logic of captured steps, by a capture that replays a function by calling it again; graphs need a card."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from scarf_lightning import randomness
from scarf_lightning.data.table import Table
from scarf_lightning.engine import fit as fitting
from scarf_lightning.engine.captured import Captured, Tree, foreign_part
from scarf_lightning.engine.fit import WARM_UPS, Fit, StackLoop
from scarf_lightning.engine.lifting import state
from scarf_lightning.engine.stack import Stack
from scarf_lightning.methods import SupervisedPhase
from scarf_lightning.networks import Network
from scarf_lightning.networks.mlp import MLP
from scarf_lightning.networks.residual import ResNet
from scarf_lightning.options.settings import FinetuneSettings, PretrainSettings
from scarf_lightning.randomness import StackedGenerator
from tests.methods.test_every_method import made
from tests.promises import assert_same_weights
from tests.stacks import MakeStack, made_network, task

CPU = torch.device("cpu")


class Replaying:
    """Calls a recorded function again. As on a card, recording computes nothing."""

    def __init__(self) -> None:
        self.loop: StackLoop | None = None
        self.n_recorded = self.n_replayed = 0

    @property
    def problems(self) -> list[str | None]:
        assert self.loop is not None
        return [self.loop.step.problem, self.loop.validation.problem]

    def warm_up(self, function: Callable[[], Tree]) -> Tree:
        return function()

    def record(self, function: Callable[[], Tree]) -> tuple[Tree, Callable[[], None]]:
        self.n_recorded += 1
        buffers_of, buffers = randomness._drawn_by, list[Tensor]()
        assert buffers_of is not None

        def listed(stream: StackedGenerator, make: Callable[[], Tensor]) -> Tensor:
            buffers.append(buffers_of(stream, make))
            return buffers[-1]

        with randomness.drawing(listed):
            result = self._without_effect(function)

        def replay() -> None:
            self.n_replayed += 1
            left = iter(buffers)
            with randomness.drawing(lambda *_: next(left)):
                again = function()
            for name in result if isinstance(result, dict) else [None]:
                fixed, computed = (result, again) if name is None else (result[name], again[name])
                fixed.data.copy_(computed)

        return result, replay

    def _without_effect(self, function: Callable[[], Tree]) -> Tree:
        if self.loop is None:
            return function()
        changed = [tensor.data for tensor in state(self.loop.stack).values()]
        for moments in self.loop._optimizer.state.values():
            changed += moments.values()
        before = [tensor.clone() for tensor in changed]
        result = function()
        for tensor, value in zip(changed, before, strict=True):
            tensor.copy_(value)
        return result


@pytest.fixture
def replaying(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Replaying]]:
    """From the call on, fits are captured; lists their captures."""

    def start() -> list[Replaying]:
        captures: list[Replaying] = []

        def capture_of(device: torch.device) -> Replaying:
            captures.append(Replaying())
            return captures[-1]

        class Known(StackLoop):
            def __init__(self, *given: Any, **options: Any) -> None:
                super().__init__(*given, **options)
                captures[-1].loop = self

        monkeypatch.setattr(fitting, "capture_of", capture_of)
        monkeypatch.setattr(fitting, "StackLoop", Known)
        return captures

    return start


def assert_same(captured: Fit, eager: Fit, rounding: float | None = None) -> None:
    assert captured.epochs.tolist() == eager.epochs.tolist()
    assert captured.best_epochs.tolist() == eager.best_epochs.tolist()
    if rounding is None:
        assert_same_weights(captured.weights, eager.weights)
        assert captured.curves == eager.curves
    else:
        assert_same_weights(captured.weights, eager.weights, rounding=rounding)


def finetuned(stack: Stack, **settings: Any) -> Fit:
    return stack.finetune(FinetuneSettings(batch_size=46, **settings), stack.labelled())[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "rounding"),
    [
        pytest.param({"max_epochs": 12}, None, id="plain, trials leave"),
        pytest.param({"max_epochs": 4, "monitor": "none"}, None, id="fixed length"),
        pytest.param({"max_epochs": 4, "gradient_clip": 0.1, "metric": "auroc"}, None, id="clipped, by a metric"),
        pytest.param({"max_epochs": 4, "schedule": "coslog4", "warmup_steps": 3}, 1e-5, id="learning rate"),
        pytest.param({"max_epochs": 4, "dropout_schedule": "flat_cos"}, 1e-5, id="dropout"),
        pytest.param(
            {"max_epochs": 4, "label_smoothing": 0.3, "label_smoothing_schedule": "flat_cos"}, 1e-5, id="smoothing"
        ),
        pytest.param(
            {"max_epochs": 4, "optimizer": "adamw", "weight_decay": 0.1, "weight_decay_schedule": "flat_cos"}, 1e-5,
            id="decay",
        ),
    ],
)  # fmt: skip
def test_a_captured_fine_tuning_is_the_eager_one(
    patients: Table, make_stack: MakeStack, replaying: Any, options: dict[str, Any], rounding: float | None
) -> None:
    network: Network = ResNet(width=16, hidden_dropout=0.2)
    # A bias before a normalisation has no gradient but for rounding, which Adam blows up.
    if rounding is not None and "dropout_schedule" not in options:
        network = MLP(width=16)
    eager = finetuned(make_stack(patients, range(6), network=network), **options)
    captures = replaying()
    captured = finetuned(make_stack(patients, range(6), network=network), **options)
    assert captures[0].n_replayed > 0
    assert captures[0].problems == [None, None]
    assert_same(captured, eager, rounding)


@pytest.mark.slow
@pytest.mark.parametrize("network", ["mlp", "ft_transformer"])
def test_a_captured_pre_training_is_the_eager_one(
    patients: Table, make_stack: MakeStack, replaying: Any, network: str
) -> None:
    settings = PretrainSettings(batch_size=46, max_epochs=4, validation_passes=2)
    stacks = [make_stack(patients, range(3), network=made_network(network)) for _ in range(2)]
    eager = stacks[0].pretrain(settings, task())
    captures = replaying()
    assert_same(stacks[1].pretrain(settings, task()), eager)
    assert captures[0].problems == [None, None]
    assert captures[0].n_recorded == 3, "two sizes of batches and a validation"


@pytest.mark.parametrize("method", ["cotrain", "distill", "mixup"])
def test_captured_methods_predict_as_eager_ones(
    patients: Table, make_stack: MakeStack, replaying: Any, method: str
) -> None:
    phase = SupervisedPhase(FinetuneSettings(batch_size=46, max_epochs=4))
    eager = made(method).run(make_stack(patients, range(2)), phase)
    captures = replaying()
    outcome = made(method).run(make_stack(patients, range(2)), phase)
    np.testing.assert_array_equal(outcome.predictions, eager.predictions)
    for capture in captures:
        assert capture.n_replayed > 0
        assert capture.problems == [None, None]


def test_trials_leave_together_when_a_third_has_stopped(
    patients: Table, make_stack: MakeStack, replaying: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial that has stopped and is still there changes nothing any more."""
    eager = finetuned(make_stack(patients, range(9)), max_epochs=40)
    here: list[int] = []
    let_leave = StackLoop._end_epoch

    def spied(loop: StackLoop) -> None:
        let_leave(loop)
        here.append(len(loop.stack.roster))

    monkeypatch.setattr(StackLoop, "_end_epoch", spied)
    replaying()
    captured = finetuned(make_stack(patients, range(9)), max_epochs=40)
    assert_same(captured, eager)
    sizes = list(dict.fromkeys(here))
    assert len(sizes) < len(set(eager.epochs))
    assert all(later < earlier * 2 / 3 for earlier, later in pairwise(sizes))


def test_a_capture_that_fails_goes_on_as_before_and_says_why(
    patients: Table, make_stack: MakeStack, replaying: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    eager = finetuned(make_stack(patients, range(2)), max_epochs=6)
    captures = replaying()

    def fail(*_: Any) -> Any:
        raise RuntimeError("operation not permitted when stream is capturing\nmore lines")

    monkeypatch.setattr(Replaying, "record", fail)
    assert_same(finetuned(make_stack(patients, range(2)), max_epochs=6), eager)
    assert captures[0].problems == ["RuntimeError: operation not permitted when stream is capturing"] * 2


def numbers(function: Callable[[Tensor], Tensor], shapes: list[int]) -> tuple[list[Tensor], Replaying, Captured]:
    """The results of a function for zeros of these lengths."""
    capture = Replaying()
    captured = Captured(function, CPU, capture, warm_ups=WARM_UPS)
    return [captured(torch.zeros(n)).clone() for n in shapes], capture, captured


def test_draws_of_captured_calls_are_those_of_the_streams_in_their_order() -> None:
    """Calls of two lengths take turns, so that their draws alternate."""
    shapes = [4, 4, 3, 4, 3, 4, 4, 3, 3, 4, 3, 3]
    plain, drawn = (StackedGenerator([1, 2]) for _ in range(2))
    got, capture, _ = numbers(lambda x: x + drawn.uniform(len(x)) + drawn.normal(1), shapes)
    # Recording has drawn nothing: buffers stand for the draws.
    for n, result in zip(shapes, got, strict=True):
        assert torch.equal(result, plain.uniform(n) + plain.normal(1))
    assert (capture.n_recorded, capture.n_replayed) == (2, len(shapes) - 2 * WARM_UPS)


def test_a_function_whose_draws_change_from_call_to_call_is_not_captured() -> None:
    stream, plain = StackedGenerator([1]), StackedGenerator([1])
    lengths = iter(range(1, 20))
    got, capture, captured = numbers(lambda x: stream.uniform(next(lengths)).sum(), [2] * 6)
    assert capture.n_recorded == 0
    assert captured.problem == "its draws differ from step to step"
    assert [float(each) for each in got] == [float(plain.uniform(n).sum()) for n in range(1, 7)]


def test_a_function_that_draws_on_the_host_is_not_captured() -> None:
    stream, capture = StackedGenerator([1]), Replaying()
    captured = Captured(lambda x: x + stream.uniform(2), torch.device("meta"), capture, warm_ups=WARM_UPS)
    for _ in range(6):
        captured(torch.zeros(2))
    assert (captured.problem, capture.n_recorded) == ("it draws numbers on the host", 0)


def test_a_class_of_ones_own_is_captured_if_it_says_so() -> None:
    class Layer(nn.ReLU):
        pass

    class Stated(nn.ReLU):
        is_capturable: ClassVar[bool] = True

    assert foreign_part(nn.Sequential(nn.ReLU(), Layer()), ()) == Layer.__qualname__
    assert foreign_part(nn.Sequential(Stated()), (task(),)) is None
