"""The supervised phase: what a method changes of a fit, and how it combines fits. No method imports Lightning."""

from .method import Method, MethodResult, RaggedMethod, SingleFitMethod, SupervisedPhase

__all__ = ["Method", "MethodResult", "RaggedMethod", "SingleFitMethod", "SupervisedPhase"]
