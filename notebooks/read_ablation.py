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
# What do the results in a folder say: who beats whom, by how much, and how much do the options matter?
# `python report.py` writes a page of all of it; here you can change every step.
#
# `RESULTS` may be any folder of results. `TRAIN_A_SMALL_ONE = True` trains a small sweep into it: three tables that
# come with scikit-learn, two pre-trainings and none, two methods and one that is never pre-trained, and SCARF with
# other values of three of its options. Networks are 64 wide and make at least 100 steps. Finished cells are not trained
# again.

# %%
# %matplotlib inline
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import yaml
from sklearn.datasets import load_iris, load_wine

import scarf_lightning
from scarf_lightning.reporting.drawings.over_tables import box_plots, heat_map
from scarf_lightning.reporting.style import COLOURS
from scarf_lightning.verdicts import cell_means, reference_win_matrix, relative_gains, win_matrix

plt.rcParams |= {"figure.constrained_layout.use": True, "axes.spines.top": False, "axes.spines.right": False}

# %% tags=["parameters"]
RESULTS = "results"
TRAIN_A_SMALL_ONE = True

# %% [markdown]
# ## The sweep
#
# A sweep is a file of blocks, each a product of axes. `sweeps/` has the sweeps of the paper.

# %% tags=["trains"]
RESULTS = Path(RESULTS)
if TRAIN_A_SMALL_ONE:
    blocks = []
    # Small tables have a step or two an epoch, too few of which the patience would allow; small networks are quick.
    steps = {"pretrain.min_steps": 100, "finetune.min_steps": 100}
    small = {f"network.{part}.width": 64 for part in ("encoder", "pretrain_head", "head")}
    trained = steps | small
    compared = {"pretrain": ["none", "scarf", "scarf_ae"], "method": ["control", "mixup"]}
    augmented = {"pretrain": "none", "method": "scarf_augment"}
    for name, source in {"wine": load_wine(), "iris": load_iris()}.items():
        table = pd.DataFrame(source.data, columns=source.feature_names).assign(
            target=source.target_names[source.target]
        )
        table.to_csv(f"{name}.csv", index=False)
        data = trained | {
            "dataset": "csv",
            "recipe": "paper",
            "dataset.path": f"{name}.csv",
            "dataset.target": "target",
        }
        blocks += [data | compared, data | augmented]
    blocks += [
        trained | {"dataset": "wdbc", **compared},
        trained | {"dataset": "wdbc", **augmented},
        trained | {"dataset": "wdbc", "corruption.rate": [0.2, 0.4, 0.8]},
        trained | {"dataset": "wdbc", "loss.temperature": [0.2, 5]},
        trained | {"dataset": "wdbc", "pretrain.batch_size": [64, 256]},
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
# row against the column, over the datasets on which the corrected resampled t-test finds a difference at p < 0.05;
# `test="welch"` is the paper's test, which is false too often. The last column is the smallest ratio of the row. With
# few datasets and trials most comparisons are ties: 0/0.

# %% tags=["compared"]
OPTIONS = {"corruption.rate": 0.6, "loss.temperature": 1, "pretrain.batch_size": 128}
usual = rows[rows["regime"] == "full"]
for option, value in OPTIONS.items():
    usual = usual[usual[option].isna() | (usual[option].astype(float) == value)]

cell_means(usual, by=("dataset", "method", "pretrain")).pivot_table(
    index=["dataset", "method"], columns="pretrain", values="mean"
).round(4)

# %%
scores = usual.assign(competitor=usual["pretrain"] + "+" + usual["method"], value=usual["accuracy"])
competitors = sorted(name for name in scores["competitor"].unique() if not name.endswith("+mixup"))
heat_map(win_matrix(scores, competitors), row_title="pre-training + method", column_title="against")

# %% [markdown]
# The paper's second form: each method with a pre-training against the same method without.

# %%
pretrains = sorted(name for name in usual["pretrain"].unique() if name != "none")
methods = sorted(usual.loc[usual["pretrain"] != "none", "method"].unique())
grid = {(method, its): (f"{its}+{method}", f"none+{method}") for method in methods for its in pretrains}
heat_map(reference_win_matrix(scores, grid), row_title="method", column_title="with, against without")

# %% [markdown]
# ## By how much
#
# Relative improvement over the same method without pre-training. Each dataset is a point. Datasets on which the
# difference has p < 0.20 are coloured, as in the paper; all datasets are grey, for a fair view.

# %%
gains = relative_gains(scores, grid)
box_plots(gains, reference="no pre-training", column_title="pre-training")

# %%
gains.pivot_table(index="row", columns="column", values="gain").round(2)

# %% [markdown]
# ## How much the options matter
#
# SCARF with all options but one at their defaults. A point is a trial, the line their mean. The paper finds little
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
figure.suptitle("How much three options of SCARF matter")
_ = panels[0].legend(frameon=False)
