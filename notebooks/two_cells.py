# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Two cells beside each other
#
# Two cells that differ in one axis: corruption by the mean of a column, and by values of other rows. Which rows are
# predicted wrongly, and how surely? What a corruption does to a row is in [What InfoNCE sees](views.ipynb).
#
# With `FILE = None` the table is that of the 1,309 passengers of the Titanic, as scikit-learn packs it for its own
# tests. `sklearn.datasets.fetch_openml("titanic", version=1)` downloads the same. A hundred passengers are labelled.

# %%
# %matplotlib inline
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import sklearn
from IPython.display import HTML

import scarf_lightning
from scarf_lightning.reporting.style import COLOURS, GREY
from scarf_lightning.results import load_predictions

plt.rcParams |= {"figure.constrained_layout.use": True, "axes.spines.top": False, "axes.spines.right": False}

# %% tags=["parameters"]
FILE = None
TARGET = "survived"
AXIS, FIRST, SECOND = "corruption", "mean", "marginal"
LABELS = 100
TRIALS = 5
RESULTS = "two_cells"

# %% tags=["trains"]
if FILE is None:
    packed = next(Path(sklearn.__file__).parent.glob("datasets/tests/data/openml/id_40945/data*.arff.gz"))
    names = ["pclass", "survived", "name", "sex", "age", "sibsp", "parch", "ticket", "fare", "cabin", "embarked"]
    table = pd.read_csv(packed, comment="@", names=[*names, "boat", "body", "home"], na_values="?")
    table = table.assign(deck=table["cabin"].str[0]).drop(columns=["name", "ticket", "cabin", "boat", "body", "home"])
    FILE = "titanic.csv"
    table.to_csv(FILE, index=False)
options = ["recipe=practical", "regime=few", f"regime.labels={LABELS}", f"trials={TRIALS}", "trainer=cpu"]
trials = scarf_lightning.run(
    [f"{AXIS}={FIRST},{SECOND}", "dataset=csv", f"dataset.path={FILE}", f"dataset.target={TARGET}", *options],
    f"paths.results={RESULTS}",
)
fingerprints = trials.groupby(AXIS)["fingerprint"].first()
trials.pivot_table(index="trial", columns=AXIS, values="accuracy").round(3)

# %% [markdown]
# ## Rows that are predicted wrongly, and how surely
#
# Both cells have the same splits, so that their trials are pairs, and so are the predictions of each test row. A row is
# predicted wrongly if its class has less than half of the probability. Below, the rows of which both cells are most
# sure, and wrong.

# %%
sure = {}
for name in (FIRST, SECOND):
    predictions = load_predictions(fingerprints[name], RESULTS)
    given = [row[f"probability_{row['class']}"] for _, row in predictions.iterrows()]
    sure[name] = predictions[["trial", "row", "class"]].assign(sure=given).set_index(["trial", "row", "class"])["sure"]
sure = pd.DataFrame(sure)
worst = sure.assign(both=sure.max(axis=1)).nsmallest(6, "both").reset_index()
features = pd.read_csv(FILE).drop(columns=TARGET)
HTML(worst.join(features, on="row").drop(columns="both").round(2).to_html(index=False))

# %% tags=["compared"]
wrong = sure < 0.5
counted = {
    "wrong": wrong.mean(),
    "wrong, and 90 % sure": (sure < 0.1).mean(),
    "wrong in both": pd.Series(wrong.all(axis=1).mean(), wrong.columns),
    "wrong here alone": pd.Series({name: (wrong[name] & (wrong.sum(axis=1) == 1)).mean() for name in wrong}),
}
pd.DataFrame(counted).T.round(3)

# %% [markdown]
# ## One picture
#
# At the left, the answer to the question which of the two is better: a line for each trial. At the right, the reason
# why it is hard to answer: nearly all mistakes are made by both.

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), width_ratios=[1, 1.5])
accuracy = trials.pivot_table(index="trial", columns=AXIS, values="accuracy")[[FIRST, SECOND]]
for values in accuracy.to_numpy():
    left.plot([0, 1], values, "o-", color=GREY, alpha=0.7)
left.plot([0, 1], accuracy.mean(), "D-", color=COLOURS[0], linewidth=3, markersize=9, label="mean of the trials")
left.set_xticks([0, 1], [FIRST, SECOND], fontsize=12)
left.set_xlim(-0.3, 1.3)
left.set_xlabel(AXIS, fontsize=12)
left.set_ylabel("test accuracy", fontsize=12)
left.set_title("Trial by trial", fontsize=13)
left.legend(frameon=False, fontsize=11)
kinds = {
    "right in both": (~wrong.any(axis=1), GREY),
    "wrong in both": (wrong.all(axis=1), COLOURS[1]),
    f"wrong by {FIRST} alone": (wrong[FIRST] & ~wrong[SECOND], COLOURS[0]),
    f"wrong by {SECOND} alone": (wrong[SECOND] & ~wrong[FIRST], COLOURS[3]),
}
for label, (chosen, colour) in kinds.items():
    right.scatter(
        *sure[chosen].T.to_numpy(), s=12, color=colour, alpha=0.5, linewidth=0, label=f"{label}: {chosen.mean():.1%}"
    )
right.axhline(0.5, color="black", linewidth=0.6)
right.axvline(0.5, color="black", linewidth=0.6)
right.set_xlabel(f"probability of the true class, {FIRST}", fontsize=12)
right.set_ylabel(f"and {SECOND}", fontsize=12)
right.set_title("Each test row, and how sure both are of its class", fontsize=13)
_ = right.legend(frameon=False, fontsize=11, markerscale=2, loc="center left", bbox_to_anchor=(1, 0.5))
