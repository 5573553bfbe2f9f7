"""What wraps the supervised fit: one module a method."""

from .base import Method, Outcome, Supervision

__all__ = ["Method", "Outcome", "Supervision"]
