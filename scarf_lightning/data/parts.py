"""The parts of a split, and their shares of the rows (paper, section 4, "Datasets")."""

TEST_SHARE = 0.2
VALIDATION_SHARE = 0.1

PARTS = ("train", "validation", "test")
"""The parts, in the order of their numbers."""
TRAIN, VALIDATION, TEST = range(len(PARTS))


def part_sizes(n: int) -> tuple[int, int]:
    """Of n rows those for validation and those for testing."""
    # Both are rounded, and training gets the rest, so that the three add up.
    n_validation = round(VALIDATION_SHARE * n)
    n_test = round(TEST_SHARE * n)
    return n_validation, n_test
