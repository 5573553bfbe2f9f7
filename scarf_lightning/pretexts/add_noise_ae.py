"""The additive-noise auto-encoder (paper, section 4): the clean row from one with Gaussian noise."""

from dataclasses import dataclass
from typing import ClassVar

from .autoencoder import Autoencoder


@dataclass
class AddNoiseAE(Autoencoder):
    """A denoising auto-encoder; its default corruption is additive Gaussian noise."""

    name: ClassVar[str] = "add_noise_ae"
