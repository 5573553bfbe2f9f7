"""Encoders that a module starts from: a module of the user's own, or pre-trained weights."""

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path

import torch
from torch import Tensor, nn

from ..engine.encoder import Encoder
from ..engine.lifting import Alone, as_it_is, part_of, with_trial_axis
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
        if not isinstance(out, Tensor) or out.shape[:-1] != (PROBED_ROWS,):
            raise UsageError(
                f"{name} gives {given} for rows of {(PROBED_ROWS, width)}; an encoder gives one embedding a row, "
                f"({PROBED_ROWS}, E)."
            )


def read_encoder(
    encoder: "nn.Module | str | Path | None",
) -> tuple[OwnEncoder | None, Mapping[str, Tensor] | None]:
    """An encoder as the argument of a module: the user's own module or its copy, or else pre-trained weights.

    Args:
        encoder: a module, the ``.encoder`` of another `PlainModule`, of which a copy is taken, or the file of a
            checkpoint that has one.

    Raises:
        UsageError: the file cannot be read, or has no encoder.
    """
    if encoder is None:
        return None, None
    if isinstance(encoder, Encoder):
        if isinstance(encoder.body, Alone):
            return OwnEncoder(deepcopy(encoder.body.network)), None
        return None, encoder.state_dict()
    if isinstance(encoder, nn.Module):
        return OwnEncoder(encoder), None
    if not isinstance(encoder, (str, Path)):
        raise UsageError(
            "encoder must be a module, as in encoder=MyEncoder(), or the file of a checkpoint, and not "
            f"{getattr(encoder, '__name__', encoder)!r}."
        )
    return None, _checkpoint_encoder(Path(encoder))


def _checkpoint_encoder(file: Path) -> dict[str, Tensor]:
    if not file.is_file():
        raise UsageError(f"encoder={file}: there is no such file.")
    try:
        weights = torch.load(file, map_location="cpu", weights_only=True)["state_dict"]
    # Torch raises errors of many kinds for a file that is no checkpoint.
    except Exception as error:
        raise UsageError(f"encoder={file} is no checkpoint of Lightning's that is safe to load: {error}") from error
    found = part_of(weights, "encoder") or part_of(weights, "classifier.encoder")
    if not found:
        raise UsageError(f"encoder={file} has no encoder in it; give the checkpoint of a PretrainModule.")
    return found


def fitting_weights(weights: Mapping[str, Tensor], encoder: Encoder) -> dict[str, Tensor]:
    """Pre-trained weights for an encoder that is built like the pre-trained one.

    Raises:
        UsageError: it is built differently.
    """
    # Compared by shapes beforehand: torch's own refusal would name layers, and no column or option.
    stacked = with_trial_axis(encoder, weights)
    for name, tensor in encoder.state_dict().items():
        if name not in stacked or stacked[name].shape != tensor.shape:
            raise UsageError(
                "The encoder is not one for this table and these options: it needs the same columns, network and "
                "number of trials as its pre-training had."
            )
    return stacked
