# ruff: noqa: E501
"""Mistakes in parts of a user's own: a name, the source of a module ``m``, and words of the sentence on it."""

HEAD = """\
import random as standard
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from scarf_lightning.corruption import Corruption, Selection, SelectiveCorruption
from scarf_lightning.data.preprocessing import Scaling
from scarf_lightning.losses import ContrastiveLoss, Loss
from scarf_lightning.methods import Method, SingleFitMethod
from scarf_lightning.metrics import metric
from scarf_lightning.networks import Network
from scarf_lightning.options import option
from scarf_lightning.pretexts import Pretext, Views

"""


def part(
    base: str, body: str, *, name: str = '    name: ClassVar[str] = "bad"\n', dataclass: str = "@dataclass"
) -> str:
    """The source of a class ``Bad``."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f'{HEAD}{dataclass}\nclass Bad({base}):\n    """A part with a mistake."""\n\n{name}\n{lines}'


def corruption(value: str, *, options: str = "", arguments: str = "self, x, source, random") -> str:
    return part("SelectiveCorruption", f"{options}\ndef replacement({arguments}):\n    return {value}")


def loss(value: str, *, options: str = "") -> str:
    return part("ContrastiveLoss", f"{options}\ndef __call__(self, first, second):\n    return {value}")


def network(layers: str, forward: str) -> str:
    module = (
        "class Net(nn.Module):\n    acts_on_last_axis = {axis}\n    def __init__(self, n):\n        super().__init__()\n"
        f"        self.a = nn.Linear(n, 8)\n        {layers}\n    def forward(self, x):\n        return {forward}\n\n"
    )
    body = "def build(self, columns, dropout):\n    return Net(columns.n_encoded)"
    source = part("Network", body)
    axis = "True" if "dim=0" in forward else "False"
    return source.replace("@dataclass\nclass Bad", module.replace("{axis}", axis) + "@dataclass\nclass Bad")


def pretext(views: str = "Views((rows.encoded,), (rows.encoded,))", loss: str = "outputs[0].mean(dim=(-2, -1))") -> str:
    return part(
        "Pretext",
        f"def make_views(self, rows):\n    return {views}\ndef compute_loss(self, outputs, targets):\n    return {loss}",
    )


def method(body: str) -> str:
    return part("SingleFitMethod", body)


def measured(value: str, **how: str) -> str:
    given = "".join(f", {name}={value}" for name, value in how.items())
    return f'{HEAD}@metric("bad"{given})\ndef bad(probabilities, labels):\n    return {value}\n'


PER_ROW = "(first - second).square().sum(dim=-1)"

MISTAKES = {
    # Corruptions, those of a first day among them.
    "torch's own draws": (corruption("x + torch.randn_like(x)"), "uses torch's own random numbers", "random.normal("),
    "numpy's draws": (corruption("x + float(np.random.normal())"), "uses numpy's own random numbers", "random.normal("),
    "python's draws": (corruption("x + standard.random()"), "uses Python's own random numbers", "random.normal("),
    "a new generator": (
        corruption("x + float(np.random.default_rng().normal())"), "gives other numbers", "random.normal(",
    ),
    "a mean over trials": (corruption("x.mean(dim=0)"), "mixes trials", "dim=-2"),
    "a mean over all": (corruption("x.mean()"), "mixes trials", "dim=-2"),
    "a count of calls": (
        corruption("x + self.next()", options="def next(self):\n    self.n = getattr(self, 'n', 0) + 1\n    return self.n"),
        "gives other numbers", "keep nothing between calls",
    ),
    "rows changed in place": (corruption("x.mul_(2)"), "changes the tensor that it is given", "x.clone()"),
    "a replacement without return": (
        corruption("None"), "m.Bad.replacement", "it has to return the values, a tensor that broadcasts to x (..., N, M)",
    ),
    "a numpy array": (corruption("x.numpy()"), "m.Bad.replacement", "compute in torch"),
    "another name of the function": (
        part("SelectiveCorruption", "def replace(self, x, source, random):\n    return x"),
        "without replacement(x, source, random)", "rename its replace",
    ),
    "no name": (part("SelectiveCorruption", "def replacement(self, x, source, random):\n    return x", name=""),
                "without a name", "add the line name"),
    "no dataclass": (
        part("SelectiveCorruption", "sigma: float = 0.5\ndef replacement(self, x, source, random):\n    return x * self.sigma",
             dataclass=""),
        "is no dataclass, so sigma is no option", "write @dataclass",
    ),
    "fewer arguments": (corruption("x", arguments="self, x, random"), "takes (x, random)", "(x, source, random)"),
    "rows alone": (
        part("Corruption", "def __call__(self, x):\n    return x"), "takes (x)", "(x, source, random, selection)",
    ),
    "a view without a mask": (
        part("Corruption", "def __call__(self, x, source, random, selection):\n    return x * 2"),
        "gives a tensor of shape", "the view and the mask",
    ),
    "a logarithm of negative numbers": (corruption("x.log()"), "its view in the column 'a'", ".clamp(min="),
    "an average of raw categories": (
        corruption("x + 0.5", options='space: ClassVar[str] = "raw"'), "in the column 'colour'", "leave space out",
    ),
    "an option without a type": (corruption("x * self.sigma", options="sigma = 0.5"), "has no type", "sigma: float = 0.5"),
    "an option without a default": (
        part("Corruption", "sigma: float\ndef __call__(self, x, source, random, selection):\n    return x, x > 0"),
        "the field sigma has no default", "option(DEFAULT",
    ),
    "a default outside the limits": (
        corruption("x", options='sigma: float = option(2.0, "size", "(0, 1)")'), "sigma must", "give each option a default",
    ),
    # Selections.
    "a selection of numbers": (
        part("Selection", "def mask(self, rate, n_rows, n_features, random):\n    return random.uniform(n_rows, n_features)"),
        "gives torch.float32 as its mask", "mask > 0",
    ),
    "a selection of one trial": (
        part("Selection", "def mask(self, rate, n_rows, n_features, random):\n"
             "    return random.uniform(n_rows, n_features)[0] < rate"),
        "as the shape of its mask", "(..., n_rows, n_features)",
    ),
    "a selection of nothing": (
        part("Selection", "def mask(self, rate, n_rows, n_features, random):\n"
             "    return random.uniform(n_rows, n_features) < 0"),
        "selects nothing", "rate",
    ),
    "a selection by torch": (
        part("Selection", "def mask(self, rate, n_rows, n_features, random):\n"
             "    shape = (*random.uniform(1, 1).shape[:-2], n_rows, n_features)\n    return torch.rand(shape) < rate"),
        "uses torch's own random numbers", "random.uniform(",
    ),
    # Losses.
    "a loss with forward": (
        part("ContrastiveLoss", "def forward(self, first, second):\n    return first.mean(dim=(-2, -1))"),
        "without __call__(first, second)", "rename its forward",
    ),
    "a module as a loss": (
        part("nn.Module", "def forward(self, first, second):\n    return first.mean()", dataclass=""),
        "inherits from Module alone", "ContrastiveLoss",
    ),
    "a loss that no task takes": (
        part("Loss", "def __call__(self, first, second):\n    return first.mean(dim=(-2, -1))"),
        "no pre-training takes", "ContrastiveLoss",
    ),
    "a loss of all trials": (loss(f"{PER_ROW}.mean()"), "as the shape of its loss", "average over the last axes"),
    "a loss of rows": (loss(PER_ROW), "as the shape of its loss", "average over the last axes"),
    "a transpose of all axes": (loss("(first @ second.T).mean(dim=(-2, -1))"), "m.Bad.__call__", ".mT"),
    "a loss cut from its inputs": (loss(f"{PER_ROW}.detach().mean(dim=-1)"), "lets no gradient reach its inputs", "detach"),
    "a root of zero": (loss(f"{PER_ROW}.sqrt().mean(dim=-1)"), "gradient that is not finite", ".clamp(min="),
    "an option that is never used": (
        loss(f"{PER_ROW}.mean(dim=-1)", options='margin: float = option(0.2, "least distance", "(0, 1)")'),
        "the option margin changes nothing", "use self.margin",
    ),
    # Pre-trainings.
    "inputs that are no tuple": (pretext("Views(rows.encoded, ())"), "gives a tensor of shape", "tuples"),
    "a loss of a pre-training over the trials, beside an error": (
        pretext(loss="outputs[0].mean()") + "    has_error = True\n    def compute_error(self, outputs, targets):\n"
        "        return outputs[0].mean(dim=(-2, -1))\n",
        "m.Bad.compute_loss (m.py", "it has to return a tensor (...): average over the last axes",
    ),
    "no views": (pretext("rows.encoded"), "gives a tensor of shape", "Views("),
    "raw draws in views": (
        pretext("Views((rows.encoded + torch.randn_like(rows.encoded),))"), "uses torch's own", "rows.random.normal",
    ),
    "a loss without g": (pretext(loss="targets[0].mean(dim=(-2, -1))"), "lets no gradient reach f", "detach"),
    "a head of the wrong width": (
        pretext() + "    def head(self, width, columns, layers):\n        return nn.Linear(3, 1)\n", "m.Bad.head", "has to return",
    ),
    # Networks.
    "dropout of torch": (network("self.d = nn.Dropout(0.5)", "self.d(self.a(x))"), "m.Net", "networks.Dropout"),
    "a mean over trials in a network": (network("", "self.a(x) - self.a(x).mean(dim=0)"), "mixes trials", "dim=-2"),
    "rows that see each other": (network("", "self.a(x) - self.a(x).mean(dim=-2, keepdim=True)"), "among other rows", "dim=-1"),
    "a network that is a function": (
        part("Network", "def build(self, columns, dropout):\n    return torch.relu"), "m.Bad.build", "torch.nn.Module",
    ),
    "a network without rows": (network("", "self.a(x).mean(dim=-2)"), "as the shape of its embedding", "(..., N, E)"),
    # Methods.
    "a batch of two": (
        method("def make_batch(self, rows, targets, weights):\n    return rows.encoded, targets"), "gives a tuple of 2", "three",
    ),
    "noise of torch in a batch": (
        method("def make_batch(self, rows, targets, weights):\n"
               "    return rows.encoded + torch.randn_like(rows.encoded), targets, weights"),
        "uses torch's own random numbers", "rows.random.normal",
    ),
    "a loss of a method that is a number": (
        method("def compute_loss(self, outputs, targets, weights):\n    return float(outputs.mean())"),
        "gives a float as loss", "a tensor (...)",
    ),
    "a loss of a method over the wrong axes": (
        method("def compute_loss(self, outputs, targets, weights):\n    return F.cross_entropy(outputs, targets)"),
        "m.Bad.compute_loss", "it has to return a tensor (...), an average over rows, or None for the loss of the target",
    ),
    "a batch without columns": (
        method("def make_batch(self, rows, targets, weights):\n    return rows.encoded[..., :1], targets, weights"),
        "m.Bad.make_batch (m.py", "it has to return inputs, targets and weights, a tuple of three",
    ),
    "a property that is a function": (method("def dropout_rate(self):\n    return 0.5"), "is a property", "@property"),
    "a method without a run": (part("Method", "def fit(self, stack, phase):\n    pass"), "without run(stack, phase)", "define it"),
    # Metrics.
    "a metric of two numbers": (measured("probabilities.max(axis=1)"), "gives a ndarray", "float("),
    "a metric above its bounds": (measured("10 * float((probabilities.argmax(axis=1) == labels).mean())"),
                                  "outside its bounds", "bounds=("),
    "a metric of the wrong direction": (
        measured("float((probabilities.argmax(axis=1) == labels).mean())", higher_is_better="False"), "higher_is_better=True", "",
    ),
    "a metric of chance": (
        measured("float((probabilities.argmax(axis=1) == labels).mean() * np.random.random())"), "numpy's own", "default_rng",
    ),
    "a metric that divides": (measured("float(1 / (labels == labels[0]).std())", bounds="(0, 1e9)"), "bad", ""),
    # What prepares a table.
    "a scaling by one number": (
        part("Scaling", "def statistics(self, values):\n    return values.mean(axis=0), values.std()"), "m.Bad.statistics", "",
    ),
    "a scaling by chance": (
        part("Scaling", "def statistics(self, values):\n"
             "    return values.mean(axis=0), values.std(axis=0) + np.random.random(values.shape[1])"),
        "uses numpy's own random numbers", "the generator that it is given",
    ),
    "a scaling of rows": (
        part("Scaling", "def statistics(self, values):\n    return values.mean(axis=1), values.std(axis=1)"),
        "m.Bad.statistics", "",
    ),
}  # fmt: skip
