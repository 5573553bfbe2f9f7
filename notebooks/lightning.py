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
# # Plain Lightning
#
# Pre-train, co-train and fine-tune with a `pl.Trainer` of your own. The modules are those that every cell is trained
# with; here Lightning's own loop trains them, with its callbacks and its CSV logger.

# %%
# %matplotlib inline
import logging
import warnings

import matplotlib.pyplot as plt
import pandas as pd
import pytorch_lightning as pl
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint
from pytorch_lightning.loggers import CSVLogger
from sklearn.datasets import load_breast_cancer

from scarf_lightning.lightning import CotrainModule, FinetuneModule, PretrainModule, TableDataModule

logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", module="pytorch_lightning")
QUIET = {"enable_progress_bar": False, "enable_model_summary": False}

# %% [markdown]
# ## The data
#
# One table, three trials: each has its own split, initial weights and random numbers. A batch is `(3, N, M)`.

# %% tags=["parameters"]
TRIALS = 3
TABLE_OPTIONS = ["split=stratified", "scaling=zscore"]
PRETRAINING = ["corruption=marginal", "corruption.rate=0.6"]

# %%
frame = load_breast_cancer(as_frame=True).frame
data = TableDataModule(frame, "target", TABLE_OPTIONS, trials=TRIALS)

# %% [markdown]
# ## Pre-training
#
# SCARF: a row and a corrupted view of it are to be alike. The encoder never sees a label. InfoNCE is negative where
# the network does better than a guess ([What InfoNCE sees](views.ipynb)).

# %%
pretraining = PretrainModule(PRETRAINING)
keep = ModelCheckpoint(monitor="validation_loss", filename="pretraining")
trainer = pl.Trainer(
    max_epochs=40,
    callbacks=[EarlyStopping("validation_loss", patience=3), keep],
    logger=CSVLogger("logs", "pretraining"),
    **QUIET,
)
trainer.fit(pretraining, data)

# %%
curves = pd.read_csv(f"{trainer.logger.log_dir}/metrics.csv").groupby("epoch").first()
fig, ax = plt.subplots(figsize=(6, 3))
for name in ("train_loss", "validation_loss"):
    (line,) = ax.plot(curves.index + 1, curves[name], label=name.replace("_", " "))
    for trial in data.trials:
        ax.plot(curves.index + 1, curves[f"{name}/trial_{trial}"], color=line.get_color(), alpha=0.3, lw=0.8)
ax.set(xlabel="epoch", ylabel="InfoNCE", title="Pre-training: the mean, and each of three trials")
ax.legend(frameon=False)
plt.show()

# %% [markdown]
# ## Fine-tuning and co-training
#
# Fine-tuning starts from the pre-trained encoder, and from scratch for comparison. Co-training adds the pretext loss to
# the supervised one.

# %% tags=["compared"]
modules = {
    "from scratch": FinetuneModule(),
    "pre-trained": FinetuneModule(encoder=pretraining.encoder),
    "co-trained": CotrainModule(),
}
measured = {}
for name, module in modules.items():
    trainer = pl.Trainer(
        max_epochs=30,
        callbacks=[EarlyStopping("validation_loss", patience=3)],
        logger=False,
        enable_checkpointing=False,
        **QUIET,
    )
    trainer.fit(module, data)
    (measured[name],) = trainer.test(module, data, verbose=False)

columns = ["test_accuracy", *(f"test_accuracy/trial_{trial}" for trial in data.trials), "test_log_loss"]
pd.DataFrame(measured).T[columns].round(3)

# %% [markdown]
# Three trials say little about which of the three is best: `train.py` trains thirty of each side by side, and its
# report says what can be claimed. The best pre-training is in its checkpoint:

# %%
loaded = PretrainModule.load_from_checkpoint(keep.best_model_path, data=data)
print(loaded.encoder)
