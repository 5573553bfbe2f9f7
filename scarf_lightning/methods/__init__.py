"""What wraps the supervised fit: one module a method."""

from .base import Method, Outcome, RaggedMethod, SingleFitMethod, Supervision

__all__ = ["Method", "Outcome", "RaggedMethod", "SingleFitMethod", "Supervision"]
