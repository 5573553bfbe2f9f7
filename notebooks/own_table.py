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
# # Bring your own table
#
# A CSV file with a header, one row an example and one column that is to be predicted: pre-train on all of its
# training rows, fine-tune on a quarter of their labels, compare with training from scratch and with boosted trees,
# and use the encoder in scikit-learn.
#
# Put your file and its target below. With `FILE = None` a table that comes with scikit-learn is written as CSV: 178
# wines of three growers, 13 measurements, to which we add a column of words and some gaps.

# %%
# %matplotlib inline
import importlib.util
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import scarf_lightning
from scarf_lightning.inspection import load_encoder, load_rows
from scarf_lightning.report.style import COLOURS, GREY
from scarf_lightning.results import load

RESULTS = Path("results")
FILE, TARGET = None, "grower"
TRIALS = 5

plt.rcParams |= {"figure.constrained_layout.use": True, "axes.spines.top": False, "axes.spines.right": False}
TRAIN = Path(scarf_lightning.__file__).parents[1] / "train.py"

# %%
if FILE is None:
    wines = load_wine(as_frame=True)
    table = wines.data.assign(
        strength=pd.cut(wines.data["alcohol"], 3, labels=["light", "medium", "strong"]),
        grower=wines.target_names[wines.target],
    ).drop(columns="alcohol")
    table.loc[::10, "magnesium"] = np.nan
    FILE = Path("wines.csv")
    table.to_csv(FILE, index=False)
pd.read_csv(FILE).head()

# %% [markdown]
# ## Train
#
# The same splits for every method; three quarters of the training labels are hidden (`regime=semi25`), but
# pre-training sees all training rows, for it needs no labels. What is finished already is not trained again.


# %%
def train(*overrides: str) -> None:
    """Cells on the table, with few labels."""
    data = ("dataset=csv", f"dataset.path={FILE}", f"dataset.target={TARGET}", "regime=semi25")
    run = (f"trials={TRIALS}", "trainer=cpu", f"paths.results={RESULTS}")
    ran = subprocess.run([sys.executable, TRAIN, *data, *run, *overrides], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


train("pretrain=none,scarf", "keep_weights=true")
if importlib.util.find_spec("xgboost"):
    train("pretrain=none", "method=xgboost")

# %%
rows = load(RESULTS)
rows = rows[(rows["dataset"] == Path(FILE).stem) & (rows["regime"] == "semi25") & (rows["trial"] < TRIALS)]
names = {("none", "control"): "from scratch", ("scarf", "control"): "SCARF", ("none", "xgboost"): "XGBoost"}
rows = rows.assign(name=[names.get(pair, "") for pair in zip(rows["pretrain"], rows["method"], strict=True)])
accuracy = rows[rows["name"] != ""].pivot_table(index="trial", columns="name", values="accuracy")
accuracy = accuracy[[name for name in names.values() if name in accuracy]]
accuracy.agg(["mean", "std"]).T.round(3)

# %% [markdown]
# Trials share their splits, so methods are compared trial by trial: a line joins what was trained on the same rows.

# %%
figure, axes = plt.subplots(figsize=(4.5, 3))
axes.plot(accuracy.columns, accuracy.T, color=GREY, linewidth=0.8, alpha=0.7)
for place, name in enumerate(accuracy):
    axes.plot([place] * len(accuracy), accuracy[name], "o", color=COLOURS[place])
    axes.plot(place, accuracy[name].mean(), "_", color=COLOURS[place], markersize=28, markeredgewidth=2)
_ = axes.set(ylabel="test accuracy", xlim=(-0.5, accuracy.shape[1] - 0.5))
# %% [markdown]
# ## The encoder in scikit-learn
#
# `load_encoder` is a transformer: it takes a DataFrame with the table's columns, imputes and scales it as its trial
# did, and gives the embeddings. Here a logistic regression on the embeddings against one on the numeric columns, both
# fitted to the same few labelled rows. The encoder has seen no label.

# %%
scarf = rows[rows["name"] == "SCARF"]
fingerprint = scarf["fingerprint"].iloc[0]
scores = []
for trial in scarf["trial"]:
    trial_rows = load_rows(fingerprint, trial, RESULTS)
    labelled = trial_rows.features[trial_rows.part == "train"].sample(30, random_state=int(trial)).index
    is_test = trial_rows.part == "test"
    encoder = load_encoder(fingerprint, int(trial), results=RESULTS)
    numeric = trial_rows.features.select_dtypes("number").columns.tolist()
    pipelines = {
        "embeddings": (make_pipeline(encoder, StandardScaler(), LogisticRegression(C=0.1, max_iter=1000)), slice(None)),
        "columns": (make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=1000)), numeric),
    }
    for name, (pipeline, columns) in pipelines.items():
        pipeline.fit(trial_rows.features.loc[labelled, columns], trial_rows.target[labelled])
        score = pipeline.score(trial_rows.features.loc[is_test, columns], trial_rows.target[is_test])
        scores.append({"trial": trial, "logistic regression on": name, "accuracy": score})
pd.DataFrame(scores).pivot_table(
    index="trial", columns="logistic regression on", values="accuracy", margins=True
).round(3)

# %% [markdown]
# ## New rows
#
# Rows that come later need not be perfect: a missing value is imputed as in training, a category that the table did
# not have counts as missing, with a warning, and further columns are ignored. A missing column, or words where
# numbers belong, are refused with a sentence that names them.

# %%
new = pd.read_csv(FILE).head(3).drop(columns=TARGET).assign(remark="further columns are ignored")
new.iloc[0, 0] = np.nan
encoder.set_output(transform="pandas").transform(new).iloc[:, :6]
