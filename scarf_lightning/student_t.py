"""Student's t for whole degrees of freedom, in closed form: importing scipy would take longer than showing a cell."""

import math

HALVINGS = 60
"""Of a quarter turn: what is left is below the spacing of floating-point numbers around 1."""


def central_quantile(level: float, freedom: int) -> float:
    """The t that is exceeded in size with probability 1 - ``level``.

    Args:
        level: in (0, 1), such as 0.95.
        freedom: degrees of freedom, at least 1.
    """
    low, high = 0.0, math.pi / 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _central_probability(middle, freedom) < level else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def _central_probability(angle: float, freedom: int) -> float:
    """P(abs(T) < t) for t = sqrt(freedom) tan(angle) (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4)."""
    is_odd = freedom % 2
    term = math.cos(angle) if is_odd else 1.0
    total = 0.0
    for power in range(is_odd, freedom - 1, 2):
        total += term
        term *= (power + 1) / (power + 2) * math.cos(angle) ** 2
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if is_odd else total
