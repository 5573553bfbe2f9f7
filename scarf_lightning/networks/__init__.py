"""Encoders in plain `torch.nn`: their options, and the modules that they build."""

from .layers import BatchNorm, Dropout, OneHot, Rates, ReLUNetwork, initialise, is_weight, rates_of, without_ones
from .network import Columns, Network

__all__ = [
    "BatchNorm",
    "Columns",
    "Dropout",
    "Network",
    "OneHot",
    "Rates",
    "ReLUNetwork",
    "initialise",
    "is_weight",
    "rates_of",
    "without_ones",
]
