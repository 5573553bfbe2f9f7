"""Networks with a leading trial axis."""

from .initialisation import Initialisation
from .linear import StackedLinear
from .mlp import StackedMLP
from .networks import Encoder, Head
from .one_hot import OneHot

__all__ = ["Encoder", "Head", "Initialisation", "OneHot", "StackedLinear", "StackedMLP"]
