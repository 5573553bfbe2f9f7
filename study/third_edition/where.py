"""Question 3 of the third edition: where SCARF gains, by one model of all gains with partial pooling.

    python -m study.third_edition.where trials=FILE [out=FILE.json]

It needs bambi (``pip install bambi``), which nothing else here does, in an environment of its own. The page shows what
it writes.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from scarf_lightning.cli.commands import answered
from scarf_lightning.errors import UsageError

from ..results import NONE, SCARF
from .findings import AUROC, BUDGETS
from .page import FOLDER, LARGEST_R_HAT, facts_of, prepared

Floats = NDArray[np.float64]

FACTS = ("signal", "log_rows", "log_columns", "categorical_share", "log_classes")
FORMULA = f"d ~ 0 + budget + budget:({' + '.join(FACTS)}) + (1 | family) + (0 + budget | table)"
CHAINS, DRAWS, MORE_DRAWS = 4, 1_000, 4_000
ENDS = (0.025, 0.975)
SEED = 0


def main(arguments: Sequence[str]) -> None:
    """Fit the model and write what it says.

    Raises:
        UsageError: an argument is unknown, or bambi is not installed.
    """
    given = dict(each.partition("=")[::2] for each in arguments)
    if set(given) - {"trials", "out"} or "trials" not in given:
        raise UsageError("Name the file of trials that study.results wrote: trials=FILE, and out=FILE.json.")
    frame = gains(prepared(pd.read_parquet(given["trials"])), facts_of(pd.read_csv(FOLDER / "tables.csv")))
    out = Path(given.get("out") or FOLDER / "where.json")
    out.write_text(json.dumps(fitted(frame), indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{out}, from {len(frame):,} gains.\n")


def gains(trials: pd.DataFrame, facts: pd.DataFrame) -> pd.DataFrame:
    """The gain of SCARF over no pre-training in points of AUROC: a row a table, budget and trial that both have.

    Args:
        trials: as `page.prepared` gives them.
        facts: of tables with classes, by name.

    Returns:
        ``d, budget, table, family`` and `FACTS`, which have a mean of 0 and a standard deviation of 1 over tables.
    """
    known = trials[trials["dataset"].isin(facts.index[facts["kind"] == "classes"])]
    keys = ["dataset", "labels", "trial"]
    one, other = (known[known["competitor"] == name].set_index(keys)[AUROC] for name in (SCARF, NONE))
    d = (100 * (one - other)).dropna().rename("d").reset_index()
    of_tables = facts.loc[d["dataset"].unique()]
    numbers = pd.DataFrame(
        {
            "signal": of_tables["signal"],
            "log_rows": np.log(of_tables["rows"]),
            "log_columns": np.log(of_tables["columns"]),
            "categorical_share": of_tables["categorical_share"],
            "log_classes": np.log(of_tables["classes"]),
        }
    )
    standard = (numbers - numbers.mean()) / numbers.std(ddof=0)
    frame = d.join(standard, on="dataset").join(of_tables["family"], on="dataset")
    # As texts, because a formula takes numbers for measures.
    return frame.assign(budget="b" + frame["labels"].astype(str).str.zfill(3)).rename(columns={"dataset": "table"})


def fitted(frame: pd.DataFrame, draws: int = DRAWS) -> dict[str, Any]:
    """The model of some gains, with more draws where the chains do not agree.

    Returns:
        ``r_hat``, the largest one; ``checks``, see `checks`; ``is_used``; and ``facts``, see `by_fact`.
    """
    try:
        import arviz
        import bambi
    except ImportError:
        raise UsageError(
            "Question 3 needs the package bambi: pip install bambi, in an environment of its own."
        ) from None
    model = bambi.Model(FORMULA, frame, family="t")
    fit = model.fit(draws=draws, chains=CHAINS, random_seed=SEED, progressbar=False)
    r_hat = float(arviz.summary(fit, kind="diagnostics")["r_hat"].max())
    if r_hat > LARGEST_R_HAT and draws < MORE_DRAWS:
        return fitted(frame, MORE_DRAWS)
    model.predict(fit, kind="response", random_seed=SEED)
    # Chains and their draws are the first two axes.
    predicted = np.asarray(fit.posterior_predictive["d"], dtype=np.float64).reshape(-1, len(frame))
    checked = checks(frame, predicted)
    posterior = {fact: np.asarray(fit.posterior[f"budget:{fact}"]).reshape(-1, len(BUDGETS)) for fact in FACTS}
    return {
        "r_hat": r_hat,
        "checks": checked,
        "is_used": bool(r_hat <= LARGEST_R_HAT and all(each["is_inside"] for each in checked)),
        "facts": by_fact(posterior),
    }


def checks(frame: pd.DataFrame, predicted: Floats) -> list[dict[str, Any]]:
    """The posterior predictive checks: at each budget the share of tables above 0 and the deviation over tables.

    Args:
        frame: as `gains` gives it.
        predicted: gains that the model draws, ``(draws, rows)``.

    Returns:
        For each its ``budget`` and ``measure``, the value that was ``seen``, the ends ``low`` and ``high`` of the
        middle 95 % of the draws, and whether the value ``is_inside``.
    """
    found = []
    for budget, rows in frame.reset_index(drop=True).groupby("budget"):
        tables = pd.factorize(rows["table"])[0]
        # The mean over trials of each table, of what was seen and of each draw.
        weights = np.eye(tables.max() + 1)[tables] / np.bincount(tables)[tables][:, None]
        seen = rows["d"].to_numpy() @ weights
        drawn = predicted[:, rows.index] @ weights
        for measure, values, value in (
            ("share of tables above 0", (drawn > 0).mean(axis=1), float((seen > 0).mean())),
            ("deviation over tables", drawn.std(axis=1), float(seen.std())),
        ):
            low, high = np.quantile(values, ENDS)
            found.append(
                {
                    "budget": str(budget),
                    "measure": measure,
                    "seen": value,
                    "low": float(low),
                    "high": float(high),
                    "is_inside": bool(low <= value <= high),
                }
            )
    return found


def by_fact(posterior: Mapping[str, Floats]) -> list[dict[str, Any]]:
    """The change of the gain with one standard deviation of each fact at each budget, with its 95 % interval.

    Args:
        posterior: draws by fact, ``(draws, budgets)``.

    Returns:
        For each ``fact`` and number of ``labels`` the ``mean``, ``low`` and ``high``, and whether the fact is
        ``named``, because its interval is on one side of 0.
    """
    found = []
    for fact, draws in posterior.items():
        for labels, of_budget in zip(BUDGETS, draws.T, strict=True):
            low, high = np.quantile(of_budget, ENDS)
            found.append(
                {
                    "fact": fact,
                    "labels": labels,
                    "mean": float(of_budget.mean()),
                    "low": float(low),
                    "high": float(high),
                    "named": bool(low > 0 or high < 0),
                }
            )
    return found


if __name__ == "__main__":
    sys.exit(answered(main))
