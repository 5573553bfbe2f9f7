"""Encoders in plain `torch.nn`: their options, and the modules that they build."""

from .layers import BatchNorm, Dropout, Initialisation, OneHot, ReLUNetwork
from .network import Columns, Network

__all__ = ["BatchNorm", "Columns", "Dropout", "Initialisation", "Network", "OneHot", "ReLUNetwork"]
