"""The one exception whose message is written for the user."""


class UsageError(ValueError):
    """Bad input: one sentence that names the column, file or option and says what to do."""
