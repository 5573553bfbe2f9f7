"""The sensitivity analysis of the study: the same answers without tables that might decide by themselves."""

import pandas as pd

N_EXTREME = 3
FAMILIES = "one mean a family"
EXTREME = "without the three largest differences"
SIGNAL = "tables with a signal of 0.7 or more"
COPIES = "tables with at most 5 % of copies"
VARIANTS = (FAMILIES, EXTREME, SIGNAL, COPIES)
"""The analyses of the protocol, by what the page calls them."""


def variant(heading: str, tables: pd.DataFrame) -> pd.DataFrame:
    """The tables of one of the `VARIANTS`.

    Args:
        tables: of a pair at one budget, as `comparisons.tables_of` gives them. ``signal`` is how well a random forest
            predicts a table, ``copies`` the share of its rows that equal an earlier one.
    """
    if heading == FAMILIES:
        return tables.groupby("family", sort=False)["difference"].mean().reset_index()
    if heading == EXTREME:
        return leave_out_largest(tables)
    return tables[tables["signal"] >= 0.7] if heading == SIGNAL else tables[tables["copies"] <= 0.05]


def leave_out_largest(tables: pd.DataFrame) -> pd.DataFrame:
    """The tables without those of the largest differences, of either sign."""
    ranks = tables["difference"].abs().rank(method="first")
    return tables[ranks <= len(tables) - N_EXTREME]
