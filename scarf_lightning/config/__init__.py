"""What a user may ask for: the typed schema, the registry of names, and which choices go together. Free of torch."""

from .combinations import canonical, check_combination, unused_options
from .offer import offer
from .parts import CellParts, build_parts, check_options
from .plugins import load_plugins, named_plugins, plugin_hashes
from .resolvers import register_resolvers
from .schema import Config, read

register_resolvers()

__all__ = [
    "CellParts",
    "Config",
    "build_parts",
    "canonical",
    "check_combination",
    "check_options",
    "load_plugins",
    "named_plugins",
    "offer",
    "plugin_hashes",
    "read",
    "unused_options",
]
