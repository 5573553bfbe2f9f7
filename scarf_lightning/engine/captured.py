"""Functions of tensors as CUDA graphs: all launches of a training step, or of a validation, in one.

A step of a small network is some 130 kernels, which an H100 computes in a quarter of the time that the host takes to
launch them. A graph repeats the same kernels on the same memory, so

- a function is called as it is for the first calls of a shape, then captured, and then replayed;
- its arguments are copied into fixed buffers before each replay, and so are the random numbers that it draws: they are
  drawn outside, each from its own stream, so a trial has the numbers that it has without graphs;
- a number of Python's that changes from call to call would be frozen, so it has to be a tensor;
- a capture that fails, and a function that cannot be captured, are called as they are from then on.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Protocol
from weakref import WeakSet

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from ..randomness import StackedGenerator, drawing

Tree = Any
"""Tensors in tuples and dictionaries."""
OURS = ("scarf_lightning.", "torch.")


class Capture(Protocol):
    """A way to record the kernels of a function without computing them."""

    def warm_up(self, function: Callable[[], Tree]) -> Tree:
        """Call a function in the way in which it will be recorded."""

    def record(self, function: Callable[[], Tree]) -> tuple[Tree, Callable[[], None]]:
        """The results that a function will have, and a function that computes them."""


class CudaCapture:
    """Records CUDA graphs. They share their memory, so the results of one are lost when another is replayed."""

    def __init__(self, device: torch.device) -> None:
        self._alive = WeakSet[torch.cuda.CUDAGraph]()
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def warm_up(self, function: Callable[[], Tree]) -> Tree:
        # What autograd keeps of a parameter belongs to the stream of its first step.
        current = torch.cuda.current_stream()
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            result = function()
        current.wait_stream(self._stream)
        return result

    def record(self, function: Callable[[], Tree]) -> tuple[Tree, Callable[[], None]]:
        # Memory that was shared is gone with the last of its graphs.
        if not self._alive:
            self._pool = torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        current = torch.cuda.current_stream()
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            # `torch.cuda.graph` would collect garbage and empty the cache first, which takes longer than the capture.
            graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
            try:
                result = function()
            except BaseException:
                with suppress(RuntimeError):
                    graph.capture_end()
                raise
            graph.capture_end()
        current.wait_stream(self._stream)
        self._alive.add(graph)
        return result, graph.replay


@dataclass(frozen=True)
class Draw:
    """A draw that a function makes: the stream, and how it is made again; the kind of tensor that it is."""

    stream: StackedGenerator
    make: Callable[[], Tensor]
    shape: torch.Size
    dtype: torch.dtype

    @property
    def place(self) -> tuple[Hashable, ...]:
        """A key that is equal for the same draw of two calls."""
        return id(self.stream), self.shape, self.dtype


@dataclass(frozen=True)
class Graph:
    """A recorded call: its fixed buffers, its result, and a function that computes it."""

    inputs: list[Tensor]
    draws: list[Draw]
    numbers: list[Tensor]
    result: Tree
    replay: Callable[[], None]

    def __call__(self, tensors: list[Tensor]) -> Tree:
        for buffer, tensor in zip(self.inputs, tensors, strict=True):
            buffer.copy_(tensor)
        for buffer, draw in zip(self.numbers, self.draws, strict=True):
            buffer.copy_(draw.make())
        self.replay()
        return self.result


class Captured:
    """A function of tensors whose calls are captured, one graph for each shape of its arguments.

    Its results are overwritten by the next call.

    Args:
        function: takes a tree of tensors, and returns another.
        device: of the tensors.
        capture: records a call; None calls the function as it is.
        warm_ups: first calls of a shape that are not captured.

    Attributes:
        problem: why the function is called as it is; None if it is captured.
    """

    def __init__(
        self, function: Callable[[Tree], Tree], device: torch.device, capture: Capture | None, *, warm_ups: int
    ) -> None:
        self._function = function
        self._device = device
        self._capture = capture
        self._warm_ups = warm_ups
        self.problem: str | None = None
        self.forget()

    def forget(self) -> None:
        """Give up all graphs, because parameters have moved."""
        self._graphs: dict[Hashable, Graph] = {}
        self._n_calls: dict[Hashable, int] = defaultdict(int)
        self._draws: dict[Hashable, list[Draw]] = {}

    def __call__(self, tree: Tree) -> Tree:
        if self._capture is None:
            return self._function(tree)
        if self.problem is not None:
            return self._capture.warm_up(lambda: self._function(tree))
        tensors, structure = tree_flatten(tree)
        shape = (structure, *((tensor.shape, tensor.dtype) for tensor in tensors))
        graph = self._graphs.get(shape)
        if graph is not None:
            return graph(tensors)
        self._n_calls[shape] += 1
        if self._n_calls[shape] <= self._warm_ups:
            return self._warm_up(self._capture, shape, tree)
        try:
            graph = self._record(self._capture, self._draws[shape], tensors, structure)
        except Exception as error:
            # Nothing was computed yet, so the call can be made as it is.
            self._give_up(f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}")
            return self._capture.warm_up(lambda: self._function(tree))
        self._graphs[shape] = graph
        return graph(tensors)

    def _warm_up(self, capture: Capture, shape: Hashable, tree: Tree) -> Tree:
        """Call the function as it is, and list its draws."""
        draws: list[Draw] = []

        def listed(stream: StackedGenerator, make: Callable[[], Tensor]) -> Tensor:
            numbers = make()
            draws.append(Draw(stream, make, numbers.shape, numbers.dtype))
            return numbers

        with drawing(listed):
            result = capture.warm_up(lambda: self._function(tree))
        before = self._draws.get(shape, draws)
        if [draw.place for draw in draws] != [draw.place for draw in before]:
            self._give_up("its draws differ from step to step")
        elif any(draw.stream.device.type != self._device.type for draw in draws):
            self._give_up("it draws numbers on the host")
        self._draws[shape] = draws
        return result

    def _record(self, capture: Capture, draws: list[Draw], tensors: list[Tensor], structure: Any) -> Graph:
        inputs = [tensor.clone() for tensor in tensors]
        # Drawn before each replay, so here their values do not matter.
        numbers = [torch.zeros(draw.shape, dtype=draw.dtype, device=self._device) for draw in draws]
        buffers = iter(numbers)
        with drawing(lambda stream, make: next(buffers)):
            # The cache holds weights in bfloat16 that were converted outside.
            torch.clear_autocast_cache()
            result, replay = capture.record(lambda: self._function(tree_unflatten(inputs, structure)))
        return Graph(inputs, draws, numbers, tree_map(Tensor.detach, result), replay)

    def _give_up(self, problem: str) -> None:
        self.problem = problem
        self.forget()


def capture_of(device: torch.device) -> Capture | None:
    """Records calls on a device that can; None for a processor."""
    return CudaCapture(device) if device.type == "cuda" else None


def foreign_part(networks: nn.Module, parts: Iterable[object]) -> str | None:
    """The name of a class among networks and parts that is a user's own, and does not declare ``is_capturable = True``.

    Its code runs once in a capture, and what it counts or looks up in Python would be frozen.
    """
    objects = [*networks.modules(), *parts]
    for part in parts:
        if is_dataclass(part):
            objects += [getattr(part, field.name) for field in fields(part)]
    for part in objects:
        kind = type(part)
        is_ours = kind.__module__ == "builtins" or kind.__module__.startswith(OURS)
        if not is_ours and not getattr(kind, "is_capturable", False):
            return kind.__qualname__
    return None
