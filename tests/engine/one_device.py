"""Training on the device ``meta``, which computes nothing: any machine can tell what a GPU would refuse or wait for."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

DEVICE = "meta"
ASKING = ("_local_scalar_dense", "nonzero", "masked_select", "equal", "unique_dim", "_unique2")
"""Operations whose result the host needs before it goes on: a number, or a shape that depends on numbers."""
FROM_HOST = ("tensor", "as_tensor")
INDEXING = ("__getitem__", "__setitem__")


@contextmanager
def one_device() -> Iterator[None]:
    """Within, an operation that mixes devices is refused, and so is one for which the host waits for the device.

    ``meta`` by itself lets products and gathers mix with the processor. Numbers without axes may come from there, as on
    a GPU, and tensors if nothing waits for the copy.
    """
    with _Calls(), _Operations():  # type: ignore[no-untyped-call]
        yield


class _Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, given = func.overloadpacket.__name__, kwargs or {}
        tensors = [leaf for leaf in tree_leaves((args, given)) if isinstance(leaf, Tensor)]
        devices = {tensor.device.type for tensor in tensors if tensor.dim()}
        if name == "_to_copy":
            devices |= {tensor.device.type for tensor in tensors}
            devices.add(torch.device(given.get("device") or tensors[0].device).type)
            does_not_wait = given.get("non_blocking", False) and tensors[0].device.type == "cpu"
            assert len(devices) == 1 or does_not_wait, f"the host waits for a copy from {tensors[0].device}"
        elif name == "copy_" and len(devices) > 1:
            assert args[1].device.type == "cpu", "the host waits for a copy to it"
            assert args[2:] == (True,), "the host waits for its copy"
        else:
            assert len(devices) < 2, f"{name} mixes {sorted(devices)}"
        on_device = any(tensor.device.type == DEVICE for tensor in tensors)
        assert not (on_device and name in ASKING), f"the host waits for {name}"
        return func(*args, **given)


class _Calls(TorchFunctionMode):
    """Sees what is hidden from `_Operations`: lists that become tensors on the device."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, given = getattr(func, "__name__", ""), kwargs or {}
        if name in FROM_HOST and given.get("device") is not None:
            assert torch.device(given["device"]).type == "cpu", f"the host waits for torch.{name}"
        if name in INDEXING and args[0].device.type == DEVICE:
            index = args[1] if isinstance(args[1], tuple) else (args[1],)
            assert not any(isinstance(each, list) for each in index), "the host waits for an index from a list"
        return func(*args, **given)
