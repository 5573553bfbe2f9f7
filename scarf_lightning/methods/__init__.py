"""What wraps the supervised fit: one module a method."""

from .base import Method, MethodResult, RaggedMethod, SingleFitMethod, SupervisedPhase

__all__ = ["Method", "MethodResult", "RaggedMethod", "SingleFitMethod", "SupervisedPhase"]
