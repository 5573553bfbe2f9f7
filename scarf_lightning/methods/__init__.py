"""What wraps the supervised fit: one module a method."""

from .base import Method, Outcome

__all__ = ["Method", "Outcome"]
