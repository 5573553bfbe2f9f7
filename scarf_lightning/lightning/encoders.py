"""Encoders that a module starts from: a module of the user's own, or pre-trained weights."""

from collections.abc import Mapping
from copy import deepcopy

import torch
from torch import Tensor, nn

from ..engine.encoder import Encoder
from ..engine.lifting import Alone, as_it_is
from ..errors import UsageError
from ..networks import Columns, Network

PROBED_ROWS = 3


class OwnEncoder(Network):
    """A module of the user's own in the place of the network that options describe. It is trained itself, not a copy.

    Args:
        module: encoded rows ``(N, D)`` to embeddings ``(N, E)``.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module

    def build(self, columns: Columns, dropout: float | None) -> nn.Module:
        return Alone(self.module)

    def check(self, columns: Columns) -> None:
        """Refuse a module that gives no embedding a row.

        Raises:
            UsageError: see above.
        """
        name, width = type(self.module).__name__, columns.n_encoded
        with as_it_is(self.module), torch.no_grad():
            try:
                out = self.module.eval()(torch.zeros(PROBED_ROWS, width))
            # Whatever a module of the user's own raises.
            except Exception as error:
                raise UsageError(
                    f"{name} cannot encode this table, whose rows are (N, {width}) in float32 once their categories "
                    f"are encoded: {error}"
                ) from error
        given = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
        if given[:-1] != (PROBED_ROWS,):
            raise UsageError(
                f"{name} gives {given} for rows of {(PROBED_ROWS, width)}; an encoder gives one embedding a row, "
                f"({PROBED_ROWS}, E)."
            )


def read_encoder(encoder: nn.Module | None) -> tuple[OwnEncoder | None, Mapping[str, Tensor] | None]:
    """An encoder as the argument of a module: the user's own module or its copy, or else the pre-trained weights of f's
    body.

    Args:
        encoder: a module, or the ``.encoder`` of another `PlainModule`, of which a copy is taken.

    Raises:
        UsageError: it is no module.
    """
    if encoder is None:
        return None, None
    if isinstance(encoder, Encoder):
        if isinstance(encoder.body, Alone):
            return OwnEncoder(deepcopy(encoder.body.network)), None
        return None, encoder.body.state_dict()
    if not isinstance(encoder, nn.Module):
        raise UsageError(
            f"encoder must be a module, as in encoder=MyEncoder(), and not {getattr(encoder, '__name__', encoder)!r}; "
            "that of a checkpoint is PretrainModule.load_from_checkpoint(FILE, data=data).encoder."
        )
    return OwnEncoder(encoder), None


def check_shapes(what: str, weights: Mapping[str, Tensor], module: nn.Module) -> None:
    """Refuse weights of other shapes than a module's own, in words about the table: torch's would name layers.

    Raises:
        UsageError: see above.
    """
    given, own = ({name: each.shape for name, each in state.items()} for state in (weights, module.state_dict()))
    if given != own:
        raise UsageError(
            f"The {what} is not one for this table and these options: it needs the same columns, network and number of "
            "trials as its training had."
        )
