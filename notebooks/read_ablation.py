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
# # Read an ablation
#
# From a folder of results to what they say: who beats whom, by how much, how much the options matter, and whether it
# agrees with the paper. `python report.py` makes all of it a page; here every step is in your hands.
#
# `RESULTS` may be any folder of results. With `TRAIN_A_SMALL_ONE = True` a small sweep is trained into it: three
# tables that come with scikit-learn, three pre-trainings, two methods and a third that is never pre-trained, and SCARF
# along three of its options. What is finished already is not trained again.

# %%
# %matplotlib inline
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import yaml
from IPython.display import display
from sklearn.datasets import load_iris, load_wine

import scarf_lightning
from scarf_lightning.report.beside_paper import agreement_scatter
from scarf_lightning.report.drawings.box_plot import box_plots
from scarf_lightning.report.drawings.win_matrix import heat_map
from scarf_lightning.report.paper import published_accuracy, published_epochs
from scarf_lightning.report.statistics import (
    agreement,
    agreement_summary,
    cell_means,
    pretraining_grid,
    reference_win_matrix,
    relative_gains,
    scores_of,
    win_matrix,
)
from scarf_lightning.report.style import COLOURS

RESULTS = Path("results")
TRAIN_A_SMALL_ONE = True

plt.rcParams |= {"figure.constrained_layout.use": True, "axes.spines.top": False, "axes.spines.right": False}

# %% [markdown]
# ## The sweep
#
# A sweep is a file of blocks, each a product of axes; `sweeps/` has those of the paper.

# %%
if TRAIN_A_SMALL_ONE:
    blocks = []
    compared = {"pretrain": ["none", "scarf", "scarf_ae"], "method": ["control", "mixup"]}
    augmented = {"pretrain": "none", "method": "scarf_augment"}
    for name, source in {"wine": load_wine(), "iris": load_iris()}.items():
        table = pd.DataFrame(source.data, columns=source.feature_names).assign(
            target=source.target_names[source.target]
        )
        table.to_csv(f"{name}.csv", index=False)
        data = {"dataset": "csv", "dataset.path": f"{name}.csv", "dataset.target": "target"}
        blocks += [data | compared, data | augmented]
    blocks += [
        {"dataset": "wdbc", **compared},
        {"dataset": "wdbc", **augmented},
        {"dataset": "wdbc", "corruption.rate": [0.2, 0.4, 0.8]},
        {"dataset": "wdbc", "loss.temperature": [0.2, 5]},
        {"dataset": "wdbc", "pretrain.batch_size": [64, 256]},
    ]
    Path("ablation.yaml").write_text(yaml.safe_dump({"title": "A small ablation", "trials": 4, "cells": blocks}))
    scarf_lightning.run("ablation.yaml", "trainer=cpu", f"paths.results={RESULTS}")

# %%
rows = scarf_lightning.load(RESULTS)
print(f"{rows['fingerprint'].nunique()} cells, {len(rows)} trials")
rows[["dataset", "regime", "pretrain", "method", "corruption.rate", "trial", "accuracy", "finetune_epochs"]].head()

# %% [markdown]
# ## Who beats whom
#
# The cells with the paper's settings, in one regime. Each entry of the win matrix is *wins / (wins + losses)* of the
# row over the column, over datasets on which Welch's t-test finds a difference at p < 0.05; the last column is the
# row's least ratio. With few datasets and trials most are ties: 0/0.

# %%
OPTIONS = {"corruption.rate": 0.6, "loss.temperature": 1, "pretrain.batch_size": 128}
usual = rows[rows["regime"] == "full"]
for option, value in OPTIONS.items():
    usual = usual[usual[option].isna() | (usual[option].astype(float) == value)]

cell_means(usual, by=("dataset", "method", "pretrain")).pivot_table(
    index=["dataset", "method"], columns="pretrain", values="mean"
).round(4)

# %%
scores = scores_of(usual)
competitors = sorted(name for name in scores["competitor"].unique() if not name.endswith("+mixup"))
heat_map(win_matrix(scores, competitors), row_title="pre-training + method", column_title="against")

# %% [markdown]
# The paper's second form: each method with a pre-training against the same method without.

# %%
pretrains = sorted(name for name in usual["pretrain"].unique() if name != "none")
methods = sorted(usual.loc[usual["pretrain"] != "none", "method"].unique())
grid = pretraining_grid(methods, pretrains)
heat_map(reference_win_matrix(scores, grid), row_title="method", column_title="with, against without")

# %% [markdown]
# ## By how much
#
# Relative improvement over the same method without pre-training; each dataset is a point. Coloured are the datasets
# on which the difference has p < 0.20, as the paper draws it; grey are all of them, which is what a reader should see
# too.

# %%
gains = relative_gains(scores, grid)
box_plots(gains, reference="no pre-training", column_title="pre-training")

# %%
gains.pivot_table(index="row", columns="column", values="gain").round(2)

# %% [markdown]
# ## How much the options matter
#
# SCARF with everything at its default but one option; a point is a trial, the line their mean. The paper finds little
# sensitivity to batch size and temperature, and a wide range of good corruption rates.

# %%
scarf = rows[(rows["regime"] == "full") & (rows["pretrain"] == "scarf") & (rows["method"] == "control")]
figure, panels = plt.subplots(1, len(OPTIONS), figsize=(9, 2.8), sharey=True)
for axes, option in zip(panels, OPTIONS, strict=True):
    along = scarf
    for other, value in OPTIONS.items():
        if other != option:
            along = along[along[other].astype(float) == value]
    several = along.groupby("dataset")[option].nunique()
    for colour, dataset in zip(COLOURS, several[several > 1].index, strict=False):
        of_dataset = along[along["dataset"] == dataset].astype({option: float})
        mean = of_dataset.groupby(option)["accuracy"].mean()
        axes.plot(of_dataset[option], of_dataset["accuracy"], "o", color=colour, markersize=3, alpha=0.4)
        axes.plot(mean.index, mean, "o-", color=colour, label=dataset)
        axes.set_xticks(mean.index, [f"{value:g}" for value in mean.index])
    if option != "corruption.rate":
        axes.set_xscale("log")
        axes.set_xticks(sorted(along[option].dropna().astype(float).unique()))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
    axes.set_xlabel(option)
panels[0].set_ylabel("test accuracy")
_ = panels[0].legend(frameon=False)
# %% [markdown]
# ## Agreement with the paper
#
# The paper prints the accuracies of its 69 datasets, means of 30 trials; the bundled table is one of them (OpenML id
# 1510). The interval is that of our mean over few trials; the paper prints no spread of its own.

# %%
known = usual[usual["dataset_id"].isin(published_accuracy()["dataset_id"])]
cells = agreement(known, published_accuracy(), published_epochs())
published = cells[cells["published"].notna()].assign(competitor=lambda cell: cell["pretrain"] + "+" + cell["method"])
columns = ["dataset_id", "regime", "pretrain", "method", "mean", "published", "difference", "low", "high"]
display(published[[*columns, "epochs", "published_epochs"]].round(3))
agreement_scatter(published)

# %%
agreement_summary(published, by=["pretrain"])[["cells", "mean_difference", "mean_absolute_difference"]].round(4)
