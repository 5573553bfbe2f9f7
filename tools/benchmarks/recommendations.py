"""Rules of recommending a model, on the results of the study: `python -m tools.benchmarks.recommendations`.

Three of five trials choose a model by each rule, the other two judge it: how much accuracy it loses to the model that
is best in the two, and how often that is one point at most. All ten choices of three trials are tried on each table.
"""

import itertools
from collections.abc import Callable

import pandas as pd

from scarf_lightning.verdicts import judge
from scarf_lightning.verdicts.answers import HELPING, MARGIN
from study.results import FILE

COMPLEXITY = {"logistic regression": 0, "XGBoost": 1, "no pre-training": 2, "SCARF": 3, "VIME": 3}
PRETRAINED = 3
N_TRIALS, N_CHOOSING = 5, 3


class Choice:
    """The trials that choose, a column a model, and the sizes of their parts."""

    def __init__(self, trials: pd.DataFrame, n_train: float, n_test: float) -> None:
        self.trials, self.n_train, self.n_test = trials, n_train, n_test
        self.means = trials.mean()

    def lead(self, one: str, other: str) -> float:
        return float(self.means[one] - self.means[other])

    def is_claimed(self, one: str, other: str) -> bool:
        """True if the answer on one model beside the other helps."""
        differences = (self.trials[one] - self.trials[other]).to_numpy()
        ratio = self.n_test / self.n_train
        verdict = judge(differences[None], margin=MARGIN, test_to_train=ratio, n_test=self.n_test, width=1.0)
        return verdict.answer in HELPING

    def pick(self, most: float, *, needs_claim: bool) -> str:
        """The simplest model that the best one is not claimed to beat, and leads by at most so much.

        Args:
            most: the largest lead of a tie.
            needs_claim: leave out pre-trained networks that are not claimed to beat no pre-training.
        """
        names = []
        for name in self.trials:
            is_pretrained = COMPLEXITY[name] == PRETRAINED
            if not (needs_claim and is_pretrained) or self.is_claimed(name, "no pre-training"):
                names.append(name)
        best = max(names, key=lambda name: self.means[name])
        tied = [best]
        for name in names:
            if name != best and self.lead(best, name) <= most and not self.is_claimed(best, name):
                tied.append(name)
        return min(tied, key=lambda name: (COMPLEXITY[name], -self.means[name]))


RULES: dict[str, Callable[[Choice], str]] = {
    "the best mean": lambda choice: str(choice.means.idxmax()),
    "the simplest within one point": lambda choice: choice.pick(MARGIN, needs_claim=False),
    "the same, pre-training only if it helps": lambda choice: choice.pick(MARGIN, needs_claim=True),
    "the simplest that we cannot tell from the best": lambda choice: choice.pick(1.0, needs_claim=False),
}


def losses(labels: str) -> pd.DataFrame:
    """The accuracy that each rule loses, in points, a row a table and a choice of trials."""
    results = pd.read_parquet(FILE)
    found = []
    for _, table in results[results["labels"].astype(str) == labels].groupby("dataset"):
        trials = table.pivot_table(index="trial", columns="competitor", values="accuracy")
        trials = trials[[name for name in trials if name in COMPLEXITY]].dropna()
        if len(trials) < N_TRIALS:
            continue
        sizes = table[["n_train", "n_test"]].median()
        for places in itertools.combinations(range(N_TRIALS), N_CHOOSING):
            chosen = trials.iloc[list(places)]
            judged = trials.drop(index=chosen.index).mean()
            choice = Choice(chosen, sizes["n_train"], sizes["n_test"])
            lost = {}
            for name, rule in RULES.items():
                lost[name] = 100 * (judged.max() - judged[rule(choice)])
            found.append(lost)
    return pd.DataFrame(found)


def main() -> None:
    print("| labels | rule | points lost | within one point |\n|---|---|--:|--:|")
    for labels in ("50", "100", "500"):
        lost = losses(labels)
        for name in RULES:
            print(f"| {labels} | {name} | {lost[name].mean():.1f} | {100 * (lost[name] <= 1).mean():.0f} % |")


if __name__ == "__main__":
    main()
