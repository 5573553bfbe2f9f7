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
# # What InfoNCE sees
#
# SCARF shows its loss one matrix a batch: how similar is each row to the corrupted view of every row? Here is that
# matrix, before and after pre-training, and the reason why the loss is negative.
#
# With `FILE = None` the table is that of the 1,309 passengers of the Titanic, as scikit-learn packs it for its own
# tests: numbers, categories and gaps. `sklearn.datasets.fetch_openml("titanic", version=1)` downloads the same.

# %%
# %matplotlib inline
import logging
import math
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytorch_lightning as pl
import sklearn
import torch
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint
from torch.nn import functional as F

from scarf_lightning.lightning import PretrainModule, TableDataModule
from scarf_lightning.losses.loss import InfoNCE
from scarf_lightning.randomness import StackedGenerator
from scarf_lightning.reporting.style import COLOURS, GREY

logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", module="pytorch_lightning")
torch.set_num_threads(1)  # small batches gain nothing by more
plt.rcParams |= {"figure.constrained_layout.use": True, "axes.spines.top": False, "axes.spines.right": False}

# %% tags=["parameters"]
FILE = None
TARGET = "survived"
CORRUPTION = "marginal"
EPOCHS = 100
ROWS = 32  # drawn in the matrices, of all in the batch

# %%
if FILE is None:
    packed = next(Path(sklearn.__file__).parent.glob("datasets/tests/data/openml/id_40945/data*.arff.gz"))
    names = ["pclass", "survived", "name", "sex", "age", "sibsp", "parch", "ticket", "fare", "cabin", "embarked"]
    table = pd.read_csv(packed, comment="@", names=[*names, "boat", "body", "home"], na_values="?")
    table = table.assign(deck=table["cabin"].str[0]).drop(columns=["name", "ticket", "cabin", "boat", "body", "home"])
else:
    table = pd.read_csv(FILE)
described = {"gaps": table.isna().sum(), "values": table.nunique()}
pd.DataFrame(described).transpose()

# %% [markdown]
# ## Pre-training
#
# An encoder f and a head g, by a `pl.Trainer`. The module has its networks before it is trained, so that both can be
# looked at.

# %%
data = TableDataModule(table, TARGET)
module = PretrainModule(corruption=CORRUPTION, data=data)
batch = next(iter(data.val_dataloader()))
print(f"{len(batch.x)} validation rows, {data.n_encoded} columns after encoding")


# %% [markdown]
# ## The matrix
#
# Every validation row gets one corrupted view: of 60 % of its features, rounded down, each takes the value of another
# passenger. Entry *(i, k)* is the cosine of *g(f(row i))* and *g(f(view of row k))*. The seed is the same each time, so
# before and after training the views are the same.


# %%
@torch.no_grad()
def projections(module: PretrainModule) -> list[torch.Tensor]:
    """Directions of g(f(row)) and of g(f(view)), each `(N, E)`."""
    views = module.views_of(batch.x[None], StackedGenerator([0]))
    return [F.normalize(module.head(module.encoder.body(encoded))[0], dim=-1) for encoded in views]


pairs = {"before": projections(module)}

# %%
keep = ModelCheckpoint("pretraining", monitor="validation_loss")
trainer = pl.Trainer(
    max_epochs=EPOCHS,
    callbacks=[EarlyStopping("validation_loss", patience=5), keep],
    logger=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(module, data)
best = PretrainModule.load_from_checkpoint(keep.best_model_path, data=data)
pairs["after"] = projections(best)

# %% [markdown]
# ## Why the loss is negative
#
# Row *i* chooses which of the *N* views is its own, as a classifier with *N* classes does. The usual InfoNCE is the
# cross-entropy of that answer: never negative, and log *N* for a guess. The paper's Algorithm 1 divides the sum in the
# denominator by *N*, so its loss is the cross-entropy minus log *N*. A guess costs 0, whatever the size of the batch,
# and **whoever does better than a guess has a negative loss**. The gradient is the same. Minus the loss is a lower
# bound of the mutual information of row and view, in nats.
#
# There is a floor above minus log *N*. Cosines lie between -1 and 1, so at temperature 1 the best imaginable matrix, 1
# on the diagonal and -1 elsewhere, still leaves a cross-entropy of log(1 + (*N* - 1) / e²).

# %% tags=["compared"]
n = len(batch.x)
floor = math.log(1 + (n - 1) * math.exp(-2)) - math.log(n)
matrices = {name: row @ view.T for name, (row, view) in pairs.items()}
losses = {name: cosines.logsumexp(dim=1) - cosines.diagonal() - math.log(n) for name, cosines in matrices.items()}
said = {}
for name, cosines in matrices.items():
    said[name] = {
        "cross-entropy": losses[name].mean().item() + math.log(n),
        "log N": math.log(n),
        "InfoNCE": losses[name].mean().item(),
        "InfoNCE by the package": InfoNCE()(*pairs[name]).item(),
        "its floor": floor,
        "cosine of own view": cosines.diagonal().mean().item(),
        "cosine of other views": (cosines.sum() - cosines.trace()).item() / (n * (n - 1)),
        "own view is nearest": (cosines.argmax(dim=1) == torch.arange(n)).float().mean().item(),
    }
pd.DataFrame(said).round(3)

# %% [markdown]
# ## One picture
#
# Rows stand in the order of the matrix's first singular vector, so that rows which are alike are neighbours. After
# training a row's own view (the diagonal) is alike and the average view is not. Blocks beside the diagonal are
# passengers whose views could be exchanged: with half of eight features replaced, few rows can find their own, and the
# own view is the nearest one hardly more or less often than before.

# %%
order = torch.linalg.svd(matrices["after"]).U[:, 0].argsort()
order = order[torch.linspace(0, n - 1, ROWS).long()]
figure, (*squares, right) = plt.subplots(1, 3, figsize=(12, 4), width_ratios=[1, 1, 1.1])
for axes, (name, cosines) in zip(squares, matrices.items(), strict=True):
    picture = axes.imshow(cosines[order][:, order], cmap="RdBu_r", vmin=-1, vmax=1)
    axes.set_title(f"{name} pre-training: InfoNCE {losses[name].mean():.2f}", fontsize=13)
    axes.set_xlabel("corrupted view of row k", fontsize=12)
    axes.set(xticks=[], yticks=[])
squares[0].set_ylabel("row i", fontsize=12)
figure.colorbar(picture, ax=squares, label="cosine", shrink=0.8)
for colour, (name, row_losses) in zip((GREY, COLOURS[0]), losses.items(), strict=True):
    right.hist(row_losses, bins=20, range=(-2.2, 1), color=colour, alpha=0.7, label=name)
right.axvline(0, color="black", linewidth=1)
right.axvline(floor, color="black", linewidth=1, linestyle=":")
top = right.get_ylim()[1]
right.text(0.04, 0.97 * top, "a guess", fontsize=11, va="top")
right.text(floor + 0.04, 0.97 * top, "the floor", fontsize=11, va="top")
right.set_title("The loss of each row", fontsize=13)
right.set_xlabel("InfoNCE", fontsize=12)
right.set_ylabel("validation rows", fontsize=12)
_ = right.legend(frameon=False, fontsize=11, loc="center right")
