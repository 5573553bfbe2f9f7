"""What a network is told of a table: which of the encoded columns belong to which feature."""

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Columns:
    """The features of a table, one-hot encoded in their order.

    Attributes:
        n_categories: for each of the M features how many categories it has, 0 for a numeric one.
    """

    n_categories: tuple[int, ...]

    @property
    def n_features(self) -> int:
        """M."""
        return len(self.n_categories)

    @cached_property
    def n_encoded(self) -> int:
        """D: a column a numeric feature, and one a category."""
        return sum(max(count, 1) for count in self.n_categories)

    @cached_property
    def numeric(self) -> list[int]:
        """The encoded columns of the numeric features."""
        return [start for (start, _), count in zip(self._bounds, self.n_categories, strict=True) if count == 0]

    @cached_property
    def categorical(self) -> list[slice]:
        """The encoded columns of each categorical feature."""
        return [slice(*bounds) for bounds, count in zip(self._bounds, self.n_categories, strict=True) if count > 0]

    def of_feature(self, feature: int) -> range:
        """The encoded columns of one feature."""
        return range(*self._bounds[feature])

    @cached_property
    def _bounds(self) -> list[tuple[int, int]]:
        bounds, start = [], 0
        for count in self.n_categories:
            bounds.append((start, start + max(count, 1)))
            start = bounds[-1][1]
        return bounds
