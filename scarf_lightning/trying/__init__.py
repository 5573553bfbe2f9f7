"""A part of a user's own is tried before it trains: three trials of two small tables go through the real stack."""

from .part_check import Verdict, check_module, check_used, refuse_untaken

__all__ = ["Verdict", "check_module", "check_used", "refuse_untaken"]
