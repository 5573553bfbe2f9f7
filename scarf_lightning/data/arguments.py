"""Options as a user types them in a shell, for notes that advise one."""

import re


def argument(option: str, name: str) -> str:
    """An option that lists one column, in quotes where Hydra and a shell need them.

    >>> print(argument("dataset.drop", "id"))
    dataset.drop=[id]
    >>> print(argument("dataset.drop", "price, net"))
    "dataset.drop=['price, net']"
    """
    if re.fullmatch(r"[^\W\d]\w*", name, re.ASCII):
        return f"{option}=[{name}]"
    return f"\"{option}=['{name}']\""
