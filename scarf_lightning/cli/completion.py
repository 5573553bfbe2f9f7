"""Completion of the command line of `scarf` in bash and zsh, by shtab."""

from argparse import REMAINDER

from ..importing import require
from ..sweeping.folders import CONF, SWEEPS
from .parser import AXES, OVERRIDES, Parser

BASH = """
# Readline replaces what follows the last sign of equality, so names come before their values.
_scarf_options() {{
    local typed="${{COMP_LINE:0:COMP_POINT}}"
    typed="${{typed##* }}"
    local kept="${{typed%"${{typed##*=}}"}}"
    compgen -W '{words}' -- "$typed" | cut -c "$((${{#kept}} + 1))-" | sed 's/=.*/=/' | sort -u
}}
"""
ZSH = """
_scarf_words=({words})
_scarf_options() {{ compadd -S '' -a _scarf_words || _files }}
"""
WITHOUT_BLANK = "\ncomplete -o bashdefault -o default -o nospace -F _shtab_scarf scarf\n"
"""Lets bash add no blank behind a name that a value follows, and complete the names of files."""


def script(shell: str, parser: Parser) -> str:
    """The script that completes the command line of a parser in a shell, ``bash`` or ``zsh``.

    Raises:
        UsageError: shtab is not installed.
    """
    require("shtab", "A script for completion")
    import shtab

    from ..options import axes

    listed = " ".join(words())
    options = {
        "bash": "_scarf_options",
        "zsh": "_scarf_options",
        "preamble": {"bash": BASH.format(words=listed), "zsh": ZSH.format(words=listed)},
    }
    for command in parser.below():
        for file in command.files:
            file.complete = shtab.FILE  # type: ignore[attr-defined]
        if command.words is None:
            continue
        # zsh completes the first alone of words that have a star.
        command.words.nargs = REMAINDER
        if command.words.metavar == AXES:
            command.words.choices = [axis.name for axis in axes.AXES]
        elif OVERRIDES in str(command.words.metavar):
            command.words.complete = options  # type: ignore[attr-defined]
    text: str = shtab.complete(parser, shell)
    return text + (WITHOUT_BLANK if shell == "bash" else "")


def words() -> list[str]:
    """Every option with its values, as ``corruption=mean``; one whose values have no names as ``trials=``."""
    from ..options.axes import AXES, BASES, parts
    from ..options.reference import DESCRIBED, choices, common_options

    lines: list[str] = []
    for axis in AXES:
        names = {path.stem for path in (CONF / axis.name).glob("*.yaml")}
        if axis.name in BASES:
            names |= set(parts(axis.name))
        lines += [f"{axis.name}={name}" for name in sorted(names)]
    options = set(common_options())
    for axis in AXES:
        if axis.name in DESCRIBED:
            for choice in choices(axis.name):
                options |= set(choice.options)
    lines += [f"{option}=" for option in sorted(options)]
    lines += [f"sweeps={path.stem}" for path in sorted(SWEEPS.glob("*.yaml"))]
    return lines
