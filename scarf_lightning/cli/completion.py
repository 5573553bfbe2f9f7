"""Scripts that complete the command line of `scarf` in bash and zsh.

A script holds all words, so that the shell need not start Python at each key.
"""

from collections.abc import Sequence

from ..sweeping.folders import CONF, SWEEPS

SHELLS = ("bash", "zsh")
OF_RESULTS = ("ls", "drop", "export")
"""The sub-commands of `scarf results`."""

FUNCTION = """\
_scarf_commands='{commands}'
_scarf_results='{results}'
_scarf_axes='{axes}'
_scarf_words='{words}'

# Prints the words that may follow a line, one a line; the shell keeps those that begin as the last word does.
_scarf_candidates()
{{
    case "$1" in
        scarf\\ *\\ *) ;;
        *) printf '%s\\n' $(echo $_scarf_commands); return ;;
    esac
    local last="${{1##* }}"
    case "$1" in
        *\\ completion\\ *) printf '%s\\n' bash zsh ;;
        *\\ options\\ *) printf '%s\\n' $(echo $_scarf_axes) ;;
        *\\ results\\ *\\ *) ls results 2> /dev/null | grep -E '^[0-9a-f]{{16}}$' ;;
        *\\ results\\ *) printf '%s\\n' $(echo $_scarf_results) ;;
        *\\ predict\\ *) ;;
        *)
            case "$last" in
                *=*,*)
                    # A further value of a list, behind those that are there.
                    local values="${{last%,*}}"
                    printf '%s\\n' $(echo $_scarf_words) | grep "^${{last%%=*}}=" | sed "s|^[^=]*=|${{values}},|"
                    ;;
                *=*) printf '%s\\n' $(echo $_scarf_words) | grep "^${{last%%=*}}=." ;;
                *) printf '%s\\n' $(echo $_scarf_words) | sed 's/=.*/=/' | sort -u ;;
            esac
            ;;
    esac
}}
"""
BASH = """\
# Completion of scarf in bash; written by `scarf completion bash`.
{function}
_scarf()
{{
    local line="${{COMP_LINE:0:COMP_POINT}}" IFS=$'\\n'
    local word="${{line##* }}" before=""
    # Readline completes what follows the last of these signs.
    case "$word" in *=*) before="${{word%"${{word##*=}}"}}" ;; esac
    COMPREPLY=($(compgen -W "$(IFS=' '; _scarf_candidates "$line")" -- "$word"))
    COMPREPLY=("${{COMPREPLY[@]#"$before"}}")
}}
complete -o nospace -o default -F _scarf scarf
"""
ZSH = """\
#compdef scarf
# Completion of scarf in zsh; written by `scarf completion zsh`.
{function}
_scarf()
{{
    local -a found
    found=(${{(f)"$(_scarf_candidates "${{(j: :)words[1,CURRENT]}}")"}})
    if (( ${{#found}} )); then
        compadd -S '' -- $found
    else
        _files
    fi
}}
compdef _scarf scarf
"""


def script(shell: str, commands: Sequence[str]) -> str:
    """The script for a shell of `SHELLS`, with the ``commands`` of `scarf`."""
    from ..options.axes import AXES

    axes = [axis.name for axis in AXES]
    texts = {"commands": commands, "results": OF_RESULTS, "axes": axes, "words": words()}
    function = FUNCTION.format(**{name: " ".join(each) for name, each in texts.items()})
    template = BASH if shell == "bash" else ZSH
    return template.format(function=function)


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
