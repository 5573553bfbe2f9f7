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
# # A first ablation, here or on Colab
#
# Which corruption is better, and which scaling? Four cells of ten trials on a bundled table answer both questions at
# once, in two minutes of two cores. The notebook installs the package where it is missing, so it also runs on a machine
# that has none of it, such as one of Colab.
#
# There, set `ADDRESS` first: what pip takes, such as `git+` and the address of the repository, or the file of a wheel.
# Within a clone of the repository it may stay empty.

# %% tags=["parameters"]
ADDRESS = ""
AXES = ["corruption=mean,marginal", "scaling=zscore,minmax"]
TRIALS = 10
RESULTS = "first_ablation"

# %%
import importlib.util
import subprocess
import sys
from pathlib import Path

if importlib.util.find_spec("scarf_lightning") is None:
    folders = [Path.cwd(), *Path.cwd().parents]
    checkout = next((folder for folder in folders if (folder / "scarf_lightning" / "version.py").is_file()), None)
    if ADDRESS and not Path(ADDRESS).exists():
        package = f"scarf-lightning[report] @ {ADDRESS}"
    elif ADDRESS or checkout:
        package = f"{Path(ADDRESS).resolve() if ADDRESS else checkout}[report]"
    else:
        raise ValueError("Set ADDRESS to git+ and the address of the repository, or to a wheel; pip installs from it.")
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", package], check=True)
    importlib.invalidate_caches()

# %%
# %matplotlib inline
import matplotlib.pyplot as plt

import scarf_lightning
from scarf_lightning.reporting.style import COLOURS, GREY

plt.rcParams |= {"figure.constrained_layout.use": True, "axes.spines.top": False, "axes.spines.right": False}

# %% tags=["trains"]
options = ["recipe=practical", f"trials={TRIALS}", "trainer=cpu", f"paths.results={RESULTS}"]
trials = scarf_lightning.run([*AXES, *options])
first, second = (axis.partition("=")[0] for axis in AXES)

# %% [markdown]
# ## The answer, axis by axis
#
# Each value is compared with the usual one of its axis, over both values of the other axis. *Undecided* is an
# answer, too: it says what a claim lacks. The report is one page, `report/index.html`.

# %%
report = scarf_lightning.report(results=RESULTS, out="report")
print(*report.answer, sep="\n")

# %% [markdown]
# ## The same in one table and one picture
#
# A trial is a split: the points of a line are the same test rows in another setting.

# %% tags=["compared"]
trials.pivot_table(index=first, columns=second, values="accuracy").round(3)

# %%
settings = trials.assign(setting=trials[first] + "\n" + trials[second])
accuracy = settings.pivot_table(index="trial", columns="setting", values="accuracy", sort=False)
figure, axes = plt.subplots(figsize=(8, 4))
for values in accuracy.to_numpy():
    axes.plot(accuracy.columns, values, "o-", color=GREY, alpha=0.7)
axes.plot(accuracy.columns, accuracy.mean(), "D", color=COLOURS[0], markersize=9, label="mean of the trials")
axes.set_xlabel(f"{first} and {second}")
axes.set_ylabel("test accuracy")
axes.set_title("Trial by trial")
_ = axes.legend(frameon=False)
