"""The SCARF auto-encoder (paper, section 4): the clean row from SCARF's corrupted view."""

from dataclasses import dataclass
from typing import ClassVar

from .autoencoder import Autoencoder


@dataclass
class ScarfAE(Autoencoder):
    """A denoising auto-encoder; its default corruption is SCARF's, marginal sampling."""

    name: ClassVar[str] = "scarf_ae"
