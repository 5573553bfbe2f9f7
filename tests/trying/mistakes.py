# ruff: noqa: E501
"""Mistakes in parts of a user's own: a name, the source of a module ``m``, and words that are said of it."""

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
AGAIN = "when it is called again; it may keep nothing between calls, and draws random numbers only from the generator"
ALONE = "alone than among others; count axes from the right, as in dim=-2"
UNSEEN = "where torch does not see them, so they would never learn; put layers into nn.ModuleList"
COUNTER = "calls = [0]\n\n\ndef late():\n    calls[0] += 1\n    return float(calls[0] > 40)\n\n\n"
CACHE = (
    "kept = {}\n\n\ndef cached(x, key):\n    return kept.setdefault(key, x.mean(dim=-2, keepdim=True).detach())\n\n\n"
)
GENERATOR = "fixed = torch.Generator().manual_seed(0)\n\n\n"


def beside(code: str, source: str) -> str:
    """The source with more code above its class."""
    return source.replace("@dataclass\nclass Bad", f"{code}@dataclass\nclass Bad")


MISTAKES = {
    # Corruptions.
    "torch's own draws": (corruption("x + torch.randn_like(x)"), AGAIN),
    "a count in the part": (
        corruption("x + self.next()", options="def next(self):\n    self.n = getattr(self, 'n', 0) + 1\n    return self.n"), AGAIN,
    ),
    "a counter in a global that changes after 40 calls": (beside(COUNTER, corruption("x + late()")), "other numbers in "),
    "a cache by the identity of a tensor": (beside(CACHE, corruption("cached(x, id(x))")), "m.Bad gives "),
    "a generator that is fixed in each call": (
        corruption("x + torch.randn(x.shape, generator=torch.Generator().manual_seed(0))"), ALONE,
    ),
    "a mean over trials": (corruption("x.mean(dim=0)"), ALONE),
    "rows changed in place": (corruption("x.mul_(2)"), "m.Bad changes what it is given in place; begin with a copy"),
    "a mean of the source changed in place": (corruption("source.mean().mul_(2)"), "changes what it is given in place"),
    "a column that is not there": (corruption("x[..., 20] * 0"), "IndexError: index 20 is out of bounds for dimension 1 with size 4 (line "),
    "an error that speaks of numpy": (
        corruption("self.fail(np.float64(0.9))", options="def fail(self, value):\n    raise ValueError(f'not {value!r}')"),
        "m.Bad fails, ValueError: not np.float64(0.9) (line ",
    ),
    "a view of float64": (
        part("Corruption", "def __call__(self, x, source, random, selection):\n    return x.double(), x > 0"),
        "gives a view of shape (3, 8, 4) and type torch.float64; it has to be a tensor of shape (3, 8, 4) and type torch.float32",
    ),
    "a replacement without return": (corruption("None"), "m.Bad returns a NoneType from replacement; it has to return the values"),
    "a numpy array": (corruption("x.numpy()"), "m.Bad gives values of shape (3, 8, 4) and type float32; it has to be a tensor"),
    "another name of the function": (
        part("SelectiveCorruption", "def replace(self, x, source, random):\n    return x"), "is a part of corruption without replacement",
    ),
    "no name": (part("SelectiveCorruption", "def replacement(self, x, source, random):\n    return x", name=""),
                'without a name; add the line name: ClassVar[str] = "bad"'),
    "no dataclass": (
        part("SelectiveCorruption", "sigma: float = 0.5\ndef replacement(self, x, source, random):\n    return x * self.sigma",
             dataclass=""),
        "is no dataclass, so sigma is no option; write @dataclass",
    ),
    "fewer arguments": (corruption("x", arguments="self, x, random"), "takes 3 positional arguments but 4 were given"),
    "a view without a mask": (
        part("Corruption", "def __call__(self, x, source, random, selection):\n    return x * 2"), "returns a Tensor from __call__; it has to return the view and the mask",
    ),
    "a logarithm of negative numbers": (corruption("x.log()"), "gives nan in values, in column "),
    "an average of raw categories": (
        corruption("x + 0.5", options='space: ClassVar[str] = "raw"'), "in the column 3 that is none of its categories 0 to 2",
    ),
    "an option without a default": (
        part("Corruption", "sigma: float\ndef __call__(self, x, source, random, selection):\n    return x, x > 0"),
        "missing 1 required positional argument: 'sigma'",
    ),
    "a default outside the limits": (
        corruption("x", options='sigma: float = option(2.0, "size", "(0, 1)")'), "ValueError: sigma=2.0: it takes a number in (0, 1)",
    ),
    "a corruption that changes nothing": (corruption("x"), "Note: m.Bad changes nothing: each view is the row itself"),
    # Selections.
    "a selection of numbers": (
        part("Selection", "def mask(self, rate, n_rows, n_features, random):\n    return random.uniform(n_rows, n_features)"),
        "gives a mask of shape (3, 8, 4) and type torch.float32",
    ),
    "a selection of nothing": (
        part("Selection", "def mask(self, rate, n_rows, n_features, random):\n"
             "    return random.uniform(n_rows, n_features) < 0"),
        "selects nothing",
    ),
    "a selection by torch": (
        part("Selection", "def mask(self, rate, n_rows, n_features, random):\n"
             "    shape = (*random.uniform(1, 1).shape[:-2], n_rows, n_features)\n    return torch.rand(shape) < rate"),
        AGAIN,
    ),
    # Losses.
    "a loss with forward": (
        part("ContrastiveLoss", "def forward(self, first, second):\n    return first.mean(dim=(-2, -1))"), "a part of loss without __call__",
    ),
    "a loss that no task takes": (
        part("Loss", "def __call__(self, first, second):\n    return first.mean(dim=(-2, -1))"), "no pre-training takes this loss",
    ),
    "a loss of all trials": (loss(f"{PER_ROW}.mean()"), "gives a loss of shape ()"),
    "a transpose of all axes": (loss("(first @ second.T).mean(dim=(-2, -1))"), "m.Bad fails, RuntimeError: "),
    "a loss cut from its inputs": (loss(f"{PER_ROW}.detach().mean(dim=-1)"), "does not require grad"),
    # Pre-trainings.
    "inputs that are no tuple": (pretext("Views(rows.encoded, ())"), "gives an input of shape (8, 4)"),
    "a loss of a pre-training over the trials": (pretext(loss="outputs[0].mean()"), "gives a loss of shape ()"),
    "no views": (pretext("rows.encoded"), "it has to return Views(inputs=(...), targets=(...))"),
    "views of another width": (pretext("Views((rows.encoded[..., :1],))"), "gives an input of shape (3, 8, 1)"),
    "raw draws in views": (pretext("Views((rows.encoded + torch.randn_like(rows.encoded),))"), AGAIN),
    "a loss without g": (pretext(loss="targets[0].mean(dim=(-2, -1))"), "does not require grad"),
    "a head of the wrong width": (
        pretext() + "    def head(self, width, columns, layers):\n        return nn.Linear(3, 1)\n", "m.Bad fails, RuntimeError: ",
    ),
    "a weight of a loss": (
        loss(f"(self.w * {PER_ROW}).mean(dim=-1)", options="def __post_init__(self):\n    self.w = torch.ones((), requires_grad=True)"),
        f"in Bad.w, {UNSEEN}",
    ),
    "a layer of a pre-training": (
        pretext(loss="self.g(outputs[0]).mean(dim=(-2, -1))") + "    g: ClassVar[nn.Module] = nn.Linear(256, 2)\n"
        "    def head(self, width, columns, layers):\n        return nn.Linear(width, 256)\n",
        f"in Bad.g, {UNSEEN}",
    ),
    "a head with a layer in a list": (
        pretext() + "    def head(self, width, columns, layers):\n        g = nn.Linear(width, 2)\n        g.more = [nn.Linear(2, 2)]\n"
        "        return g\n",
        "keeps layers or weights in Linear.more",
    ),
    # Networks.
    "a layer in a list": (network("self.rest = [nn.Linear(8, 8)]", "self.rest[0](self.a(x))"), f"in Net.rest, {UNSEEN}"),
    "a plain tensor": (network("self.rest = torch.ones(8, requires_grad=True)", "self.a(x) * self.rest"), f"in Net.rest, {UNSEEN}"),
    "a layer of a class": (
        network("", "Net.b(self.a(x))").replace("    def forward", "    b = nn.Linear(8, 8)\n    def forward"), f"in Net.b, {UNSEEN}",
    ),
    "all layers in a list": (
        part("Network", "def build(self, columns, dropout):\n    net = nn.Identity()\n    net.all = [nn.Linear(columns.n_encoded, 8)]\n"
             "    return net"),
        f"in Identity.all, {UNSEEN}",
    ),
    "dropout of torch": (network("self.d = nn.Dropout(0.5)", "self.d(self.a(x))"), "torch.nn.Dropout; take scarf_lightning.networks.Dropout"),
    "batch normalisation of torch": (
        network("self.d = nn.BatchNorm1d(8)", "self.d(self.a(x))"), "torch.nn.BatchNorm1d; take scarf_lightning.networks.BatchNorm",
    ),
    "a lazy layer": (network("self.d = nn.LazyLinear(8)", "self.d(self.a(x))"), "m.Bad fails, "),
    "a layer that is made in forward": (network("", "nn.Linear(8, 8)(self.a(x))"), "m.Bad "),
    "a weight that is not used": (network("self.b = nn.Linear(8, 8)", "self.a(x)"), "lets no gradient reach the weight encoder.body.network.b"),
    "a mean over trials in a network": (network("", "self.a(x) - self.a(x).mean(dim=0)"), ALONE),
    "rows that see each other": (network("", "self.a(x) - x.mean(dim=-2, keepdim=True).sum(dim=-1, keepdim=True)"), "Note: m.Bad gives a row another embedding among other rows"),
    "a network that is a function": (
        part("Network", "def build(self, columns, dropout):\n    return torch.relu"), "returns a builtin_function_or_method from build; it has to return a torch.nn.Module",
    ),
    "a network without rows": (network("", "self.a(x).mean(dim=-2)"), "m.Bad fails, "),
    # Methods.
    "a batch of two": (
        method("def make_batch(self, rows, targets, weights):\n    return rows.encoded, targets"), "returns a tuple from make_batch; it has to return inputs, targets and weights",
    ),
    "targets changed in place": (
        method("def make_batch(self, rows, targets, weights):\n    targets.zero_()\n    return rows.encoded, targets, weights"),
        "changes what it is given in place",
    ),
    "noise of torch in a batch": (
        method("def make_batch(self, rows, targets, weights):\n"
               "    return rows.encoded + torch.randn_like(rows.encoded), targets, weights"),
        AGAIN,
    ),
    "a loss of a method that is a number": (
        method("def compute_loss(self, outputs, targets, weights):\n    return float(outputs.mean())"), "returns a float from compute_loss; it has to return a tensor (...)",
    ),
    "a loss of a method over the wrong axes": (
        method("def compute_loss(self, outputs, targets, weights):\n    return F.cross_entropy(outputs, targets)"),
        "return F.cross_entropy(outputs, targets))",
    ),
    "a batch without columns": (
        method("def make_batch(self, rows, targets, weights):\n    return rows.encoded[..., :1], targets, weights"), "gives inputs of shape (3, 8, 1)",
    ),
    "a property that is a function": (method("def dropout_rate(self):\n    return 0.5"), "m.Bad fails, TypeError: "),
    "a method without a run": (part("Method", "def fit(self, stack, phase):\n    pass"), "is a part of method without run"),
    # Metrics.
    "a metric of two numbers": (measured("probabilities.max(axis=1)"), "gives a ndarray; it has to return one number"),
    "a metric above its bounds": (measured("10 * float((probabilities.argmax(axis=1) == labels).mean())"), "is 10.0, outside its bounds 0.0 to 1.0"),
    "a metric of the wrong direction": (
        measured("float((probabilities.argmax(axis=1) == labels).mean())", higher_is_better="False"), "is better for wrong predictions than for right ones; higher_is_better=True",
    ),
    "a metric of chance": (measured("float((probabilities.argmax(axis=1) == labels).mean() * np.random.random())"), "m.bad "),
    "a metric that sorts in place": (measured("float(labels.sort() is None) * float(labels.mean() < 9)"), "changes what it is given in place"),
    # What prepares a table.
    "a scaling by chance": (
        part("Scaling", "def statistics(self, values):\n"
             "    return values.mean(axis=0), values.std(axis=0) + np.random.random(values.shape[1])"),
        AGAIN,
    ),
    "a scaling that changes values in place": (
        part("Scaling", "def statistics(self, values):\n    values -= values.mean(axis=0)\n    return values.mean(axis=0), values.std(axis=0)"),
        "changes what it is given in place",
    ),
    "a scaling of rows": (
        part("Scaling", "def statistics(self, values):\n    return values.mean(axis=1), values.std(axis=1)"), "m.Bad fails, ",
    ),
}  # fmt: skip
