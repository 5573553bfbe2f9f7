"""The exceptions whose messages are written for the user, and the exit status of a command that ends by one."""

from typing import ClassVar


class UsageError(ValueError):
    """Bad input: one sentence that names the column, file or option and says what to do."""

    status: ClassVar[int] = 2


class UnfinishedError(RuntimeError):
    """Cells of a sweep did not finish: what each of them met, a line each. The others did, and are kept."""

    status: ClassVar[int] = 1
