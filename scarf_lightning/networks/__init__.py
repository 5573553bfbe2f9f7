"""Networks of one trial, in plain `torch.nn`. One module a network: its options, and what they build."""

from .base import Network
from .batch_norm import BatchNorm
from .columns import Columns
from .dropout import Dropout
from .initialisation import Initialisation
from .mlp import ReLUNetwork
from .one_hot import OneHot

__all__ = ["BatchNorm", "Columns", "Dropout", "Initialisation", "Network", "OneHot", "ReLUNetwork"]
