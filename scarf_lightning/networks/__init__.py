"""Encoders in plain `torch.nn`: their options, and the modules that they build."""

from .layers import BatchNorm, Dropout, OneHot, ReLUNetwork, initialise
from .network import Columns, Network

__all__ = ["BatchNorm", "Columns", "Dropout", "Network", "OneHot", "ReLUNetwork", "initialise"]
