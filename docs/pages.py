"""The pages of the site that are made from the classes: methods.md and options.md."""

import inspect
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scarf_lightning.options.axes import AXES, parts
from scarf_lightning.options.option import Option
from tools.reference import DESCRIBED, choices, common_options, shown, values_of

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
METHODS = """\
# Methods

Everything that can be trained, with the paper that it comes from, what it needs, and where ours differs. The name in
the first column chooses it: `pretrain=vime`, `method=mixup`. A part of your own is [one class](plugins.md). Every
option is on [its own page](options.md).
"""
RIVALS = "Rivals"
SECTIONS = (
    ("Pre-training", "pretrain", "The first phase. It learns from all training rows, without their labels."),
    ("Corruption", "corruption", "What a selected feature of a row is replaced by."),
    ("Selection of features", "selection", "Which features of a row a corruption replaces."),
    ("Losses of pre-training", "loss", "What compares two views of a row."),
    ("Networks", "network", "The encoder; a head of its own follows in each phase."),
    ("Methods", "method", "The second phase, which learns from the labels."),
    (
        RIVALS,
        "method",
        "Models of other libraries, on the same splits. They are not pre-trained.",
    ),
)
OPTIONS = """\
# Options

`AXIS=NAME` chooses an option of an axis, `AXIS.OPTION=VALUE` sets an option of it, and commas train every combination.
`python train.py --cfg job` prints all options of a command.
"""
SUITE = (
    "`cc18-NAME` is one of the 69 datasets of the OpenML-CC18 suite that the paper uses; `dataset=glob(cc18-*)` is all "
    "of them."
)
DIFFERENCE = "Differs from the paper: "


def methods_page() -> str:
    """The page of all parts, in Markdown."""
    text = [METHODS]
    for title, axis, meaning in SECTIONS:
        found = {
            name: cls
            for name, cls in sorted(parts(axis).items())
            if axis != "method" or _is_rival(cls) == (title == RIVALS)
        }
        rows = [_row(name, cls) for name, cls in found.items()]
        n_columns = 4 if any(needs for *_, needs in rows) else 3
        text += [f"## {title}\n", f"{meaning}\n"]
        for row in ([f"`{axis}=`", "what it does", "paper", "needs"], ["---"] * 4, *rows):
            text.append(f"| {' | '.join(row[:n_columns])} |")
        differences = [(_label(name, cls), _difference(cls)) for name, cls in found.items() if _difference(cls)]
        if differences:
            text += ["\nWhere ours differs:\n", *(f"- **{label}**: {difference}" for label, difference in differences)]
        text.append("")
    return "\n".join(text)


def _row(name: str, cls: type[Any]) -> list[str]:
    meaning = _paragraphs(cls)[0].replace("|", "\\|")
    what = f"**{_label(name, cls)}**. {meaning}"
    return [f"`{name}`", what, _linked(getattr(cls, "paper", "")), ", ".join(_needs(name, cls))]


def _needs(name: str, cls: type[Any]) -> list[str]:
    """What must be there, from what the class says of itself."""
    needs = []
    if getattr(cls, "needs_unlabelled_rows", False):
        needs.append("unlabelled rows")
    # The extra of all packages has the name of a choice of columns.
    if _is_rival(cls) and name in EXTRAS:
        needs.append(f"extra `{name}`")
    if getattr(cls, "typical_fits", 1) > 1:
        needs.append(f"about {cls.typical_fits} times the training")
    if getattr(cls, "typical_cost", 1) > 1:
        needs.append(f"{cls.typical_cost:g} times an MLP's time a step")
    return needs


def _is_rival(cls: type[Any]) -> bool:
    return any(base.__name__ == "Rival" for base in cls.__mro__)


def _label(name: str, cls: type[Any]) -> str:
    label = getattr(cls, "label", None) or name.replace("_", " ")
    return label[0].upper() + label[1:]


def _paragraphs(cls: type[Any]) -> list[str]:
    text = inspect.cleandoc(cls.__doc__ or "").replace("``", "`")
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


def _difference(cls: type[Any]) -> str:
    found = [each.removeprefix(DIFFERENCE) for each in _paragraphs(cls) if each.startswith(DIFFERENCE)]
    return found[0] if found else ""


def _linked(paper: str) -> str:
    """A paper with its arXiv number as a link."""
    return re.sub(r"arXiv:([\d.]+\d)", r"[arXiv:\1](https://arxiv.org/abs/\1)", paper)


def options_page() -> str:
    """The page of all options, in Markdown."""
    text = [OPTIONS, "## Of every cell\n", _table(common_options())]
    for axis in AXES:
        if axis.name in DESCRIBED:
            text.append(f"## {axis.name}: {axis.meaning}\n")
            text += [SUITE + "\n"] if axis.name == "dataset" else []
            for choice in choices(axis.name):
                text += [f"### {axis.name}={choice.name}\n"] if choice.name else []
                text.append(f"{_escaped(choice.meaning)}\n")
                text += [_table(choice.options)] if choice.options else []
    return "\n".join(text)


def _table(options: Mapping[str, Option]) -> str:
    lines = ["| option | default | meaning |", "|---|---|---|"]
    for name, option in options.items():
        values = values_of(option)
        with_commas = re.sub(r"\d{5,}", lambda number: f"{int(number[0]):,}", values)
        entries = (f"`{name}`", f"`{shown(option.default)}`", f"{option.meaning} *({with_commas})*")
        lines.append(f"| {' | '.join(_escaped(entry) for entry in entries)} |")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("``", "`")
