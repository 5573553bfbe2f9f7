from tests.stacks import make_stack, patients

__all__ = ["make_stack", "patients"]
