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
# # Look into one run
#
# What pre-training did to one cell: its curves, how much its trials differ, and how its encoder embeds the rows before
# and after fine-tuning. What a corrupted row looks like is in [What InfoNCE sees](views.ipynb).
#
# To look into a cell of yours, put its table, its folder of results and its fingerprint below (the column `fingerprint`
# of `scarf_lightning.load`). With `FINGERPRINT = None` SCARF is trained on a table of 569 tumours, five trials, unless
# that is done already.

# %%
# %matplotlib inline
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import display
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

import scarf_lightning
from scarf_lightning.estimators import effective_rank, load_model, uniformity
from scarf_lightning.reporting.drawings.curves import loss_curves
from scarf_lightning.reporting.style import COLOURS, GREY
from scarf_lightning.results import load_cell, load_predictions

plt.rcParams |= {"figure.constrained_layout.use": True, "axes.spines.top": False, "axes.spines.right": False}

# %% tags=["parameters"]
FILE, TARGET = None, "diagnosis"
RESULTS = "one_run"  # of its own: cells that another run has trained may have kept no weights
FINGERPRINT = None
TRIAL = 0

# %% tags=["trains"]
RESULTS = Path(RESULTS)
if FILE is None:
    tumours = load_breast_cancer(as_frame=True)
    FILE = "tumours.csv"
    tumours.data.assign(diagnosis=tumours.target_names[tumours.target]).to_csv(FILE, index=False)
table = pd.read_csv(FILE)
if FINGERPRINT is None:
    options = ["recipe=paper", "trials=5", "keep_weights=true", "trainer=cpu", f"paths.results={RESULTS}"]
    trials = scarf_lightning.run([f"dataset.path={FILE}", f"dataset.target={TARGET}", *options])
    FINGERPRINT = trials["fingerprint"].iloc[0]

cell = load_cell(FINGERPRINT, RESULTS)
print(cell.description["dataset"], {axis: cell.config[axis]["name"] for axis in ("regime", "pretrain", "method")})
cell.trials[["trial", "accuracy", "log_loss", "auroc", "pretrain_epochs", "finetune_epochs"]]

# %% [markdown]
# ## Curves
#
# Each trial is faint; the line is the mean of the trials still training. The
# training loss jitters because every batch gets a new corruption. The validation rows were corrupted once, before the
# first epoch, so their loss can be compared between epochs. InfoNCE is negative, because a guess costs 0
# ([What InfoNCE sees](views.ipynb)).

# %%
curves = cell.curves.assign(panel=cell.description["dataset"], line=cell.curves["trial"])
loss_curves(curves)

# %%
loss_curves(curves, phase="finetune")

# %% [markdown]
# ## From trial to trial
#
# Every trial has its own split and its own initialisation. One trial says little.

# %%
figure, panels = plt.subplots(1, 3, figsize=(9, 2.4))
shown = {
    "accuracy": "test accuracy",
    "pretrain_epochs": "epochs of pre-training",
    "finetune_epochs": "epochs of fine-tuning",
}
for axes, (column, title) in zip(panels, shown.items(), strict=True):
    values = cell.trials[column].astype(float)
    axes.hlines(values.mean(), -0.5, len(values) - 0.5, color=GREY, linestyle="--", linewidth=1, label="mean")
    axes.plot(cell.trials["trial"], values, "o", color=COLOURS[0])
    axes.set_xticks(cell.trials["trial"])
    axes.set(title=title, xlabel="trial")
    axes.margins(y=0.2)
_ = panels[0].legend(frameon=False)
# %% [markdown]
# ## Embeddings
#
# Embeddings of the table's rows by the encoder of one trial: after pre-training (`pretrain`) and after fine-tuning
# (`finetune`). Only the last has seen labels, of the training rows.

# %%
CELL = RESULTS / FINGERPRINT
features, target = table.drop(columns=TARGET), table[TARGET]
tested = load_predictions(FINGERPRINT, RESULTS).query("trial == @TRIAL")["row"]
is_test = table.index.isin(tested)
classes = sorted(target.unique())
encoders = {"pretrain": load_model(CELL, phase="pretrain")}
try:
    encoders["finetune"] = load_model(CELL, phase="finetune")
except ValueError as error:  # trained without keep_weights=true
    print(error)
embeddings = {}
for phase, encoder in encoders.items():
    # Those of all trials stand side by side.
    by_trial = np.split(encoder.transform(features), len(encoder.trials), axis=1)
    embeddings[phase] = by_trial[encoder.trials.index(TRIAL)]

# %% [markdown]
# ## Nearest neighbours
#
# A test row, and the training rows nearest to it: among the scaled columns, and among the pre-trained embeddings.
# Below, how often the five nearest training rows agree with a test row's class.

# %%
train, test = features[~is_test], features[is_test]
spaces = {"pretrain": (embeddings["pretrain"][~is_test], embeddings["pretrain"][is_test])}
numeric = train.select_dtypes("number").columns
if len(numeric):
    mean, deviation = train[numeric].mean(), train[numeric].std().replace(0, 1)
    scaled = [((part[numeric] - mean) / deviation).fillna(0).to_numpy() for part in (train, test)]
    spaces = {"columns": tuple(scaled)} | spaces

tables = []
for space, (train_rows, test_rows) in spaces.items():
    _, nearest = NearestNeighbors(n_neighbors=3).fit(train_rows).kneighbors(test_rows[:1])
    neighbours = train.iloc[nearest[0], :5].assign(**{"class": target[~is_test].iloc[nearest[0]]})
    tables.append(neighbours.set_axis(pd.MultiIndex.from_product([[f"nearest by {space}"], neighbours.index])))
first_row = test.iloc[[0], :5].assign(**{"class": target[is_test].iloc[0]})
display(pd.concat([first_row.set_axis(pd.MultiIndex.from_product([["test row"], first_row.index])), *tables]))

# %% tags=["compared"]
spaces = {"columns": spaces["columns"]} if "columns" in spaces else {}
spaces |= {phase: (embedded[~is_test], embedded[is_test]) for phase, embedded in embeddings.items()}
agreement = {
    space: KNeighborsClassifier(5).fit(train_rows, target[~is_test]).score(test_rows, target[is_test])
    for space, (train_rows, test_rows) in spaces.items()
}
pd.Series(agreement, name="accuracy of 5 nearest neighbours").round(3).to_frame()

# %% [markdown]
# ## Uniformity and effective rank
#
# *Uniformity* says how evenly directions fill the sphere: the lower, the more evenly (Wang and Isola 2020). The
# *effective rank* counts the dimensions that the embeddings fill.

# %%
measured = {}
for phase, embedded in embeddings.items():
    measured[phase] = {"uniformity": uniformity(embedded[is_test]), "effective rank": effective_rank(embedded[is_test])}
pd.DataFrame(measured).T.round(3)

# %% [markdown]
# ## Before and after
#
# A plane of each space, by principal components and by t-SNE. Test rows are drawn solid.

# %%
figure, grid = plt.subplots(2, len(encoders), figsize=(3 * len(encoders), 5.6), squeeze=False)
for column, (phase, embedded) in enumerate(embeddings.items()):
    planes = {
        "PCA": PCA(2).fit_transform(embedded),
        "t-SNE": TSNE(2, random_state=0, max_iter=500, perplexity=min(30, len(embedded) / 4)).fit_transform(embedded),
    }
    for axes, (name, plane) in zip(grid[:, column], planes.items(), strict=True):
        for colour, value in zip(COLOURS, classes, strict=False):
            of_class = (target == value).to_numpy()
            axes.scatter(*plane[of_class & ~is_test].T, s=6, color=colour, alpha=0.25, linewidth=0)
            axes.scatter(*plane[of_class & is_test].T, s=14, color=colour, linewidth=0, label=f"class {value}")
        axes.set(xticks=[], yticks=[], title=f"{phase}, {name}", xlabel=f"first of {name}", ylabel=f"second of {name}")
_ = grid[0, 0].legend(frameon=False, markerscale=1.5, loc="best")
