"""A part is tried before it trains: on two small tables, alone and among other trials, twice with the same draws."""

from .part_check import Verdict, check_module, check_used, refuse_untaken

__all__ = ["Verdict", "check_module", "check_used", "refuse_untaken"]
