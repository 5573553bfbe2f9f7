"""The parts of a split, and their shares of the rows (paper, section 4, "Datasets")."""

TEST_SHARE = 0.2
VALIDATION_SHARE = 0.1

PARTS = ("train", "validation", "test")
"""The parts, in the order of their numbers."""
TRAIN, VALIDATION, TEST = range(len(PARTS))


def part_sizes(n: int) -> tuple[int, int]:
    """Of n rows those for validation and those for testing."""
    return round(VALIDATION_SHARE * n), round(TEST_SHARE * n)
