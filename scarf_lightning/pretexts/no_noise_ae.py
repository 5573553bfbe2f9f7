"""The classical auto-encoder (paper, section 4): the clean row from itself."""

from dataclasses import dataclass
from typing import ClassVar

from .autoencoder import Autoencoder


@dataclass
class NoNoiseAE(Autoencoder):
    """An auto-encoder; its default corruption is none."""

    name: ClassVar[str] = "no_noise_ae"
