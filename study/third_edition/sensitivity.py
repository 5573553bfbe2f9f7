"""The sensitivity analysis of the third edition: the same answers without tables that might decide by themselves."""

import pandas as pd

N_EXTREME, LEAST_SIGNAL, MOST_COPIES = 3, 0.7, 0.05


def variants(tables: pd.DataFrame, facts: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The analyses of the protocol, by what the page calls them.

    Args:
        tables: of a pair at one budget, as `comparisons.tables_of` gives them.
        facts: of all tables, by their names. ``signal`` is how well a random forest predicts a table, ``copies`` the
            share of its rows that equal an earlier one.
    """
    ranks = tables["difference"].abs().rank(method="first")
    signal, copies = (facts[name].reindex(tables.index) for name in ("signal", "copies"))
    return {
        "one mean a family": tables.groupby("family", sort=False).mean().reset_index(),
        "without the three largest differences": tables[ranks <= len(tables) - N_EXTREME],
        f"tables with a signal of {LEAST_SIGNAL} or more": tables[signal >= LEAST_SIGNAL],
        f"tables with at most {100 * MOST_COPIES:g} % of copies": tables[copies <= MOST_COPIES],
    }
