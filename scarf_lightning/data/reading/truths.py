"""True and false in their usual spellings."""

TRUE = frozenset(["true", "t", "yes", "y", "1", "1.0"])
FALSE = frozenset(["false", "f", "no", "n", "0", "0.0"])


def truth_of(text: str) -> bool | None:
    """The truth value that a text spells, in upper or lower case; None if it spells none."""
    folded = text.strip().lower()
    if folded in TRUE:
        return True
    if folded in FALSE:
        return False
    return None
