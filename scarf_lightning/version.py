"""The version of the package, which an installation need not be asked for."""

__version__ = "0.3.0.dev0"
