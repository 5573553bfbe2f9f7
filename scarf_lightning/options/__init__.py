"""One line an option: what a user may set, its check, its help, its page and what of it a cell's identity holds."""

from .axes import BASES, COLUMNS, part, parts
from .building import CellParts, build, build_parts
from .checking import checked, read
from .combinations import check_combination, unused_options, used_options
from .config import Config, within_max_epochs
from .option import Option, Options, option, options_of
from .plugins import load_plugins, plugin_hashes

__all__ = [
    "BASES",
    "COLUMNS",
    "CellParts",
    "Config",
    "Option",
    "Options",
    "build",
    "build_parts",
    "check_combination",
    "checked",
    "load_plugins",
    "option",
    "options_of",
    "part",
    "parts",
    "plugin_hashes",
    "read",
    "unused_options",
    "used_options",
    "within_max_epochs",
]
