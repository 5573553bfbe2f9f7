"""The parser of `scarf`: argparse's, whose refusals are our sentences."""

from argparse import Action, ArgumentParser, Namespace, RawDescriptionHelpFormatter, _SubParsersAction
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from ..errors import UsageError, unknown_name

JSON = "--json"
"""Prints one JSON object on standard output; everything else goes to standard error."""
OVERRIDES, AXES = "AXIS=OPTION", "AXIS"
"""The words of most commands, and of `scarf options`."""


class Parser(ArgumentParser):
    """A parser that refuses in a sentence.

    Attributes:
        commands: its sub-commands.
        words: those of its arguments that are no flags, as many as there are.
        files: its arguments that are paths.
    """

    commands: "_SubParsersAction[Parser] | None" = None
    words: Action | None = None
    files: Sequence[Action] = ()

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=RawDescriptionHelpFormatter, **options)
        self.set_defaults(run=self._print_help, passes_on=False, program=self.prog)

    def _print_help(self, asked: Namespace) -> int:
        self.print_help()
        return 0

    def add_commands(self) -> None:
        self.commands = self.add_subparsers(title="commands", metavar="COMMAND")

    def add_command(
        self,
        name: str,
        meaning: str,
        run: Callable[[Namespace], int] | None = None,
        text: str | None = None,
        *,
        words: str | None = None,
        passes_on: bool = False,
        takes_json: bool = False,
        **options: Any,
    ) -> "Parser":
        """Add a sub-command.

        Args:
            name: of the command.
            meaning: in a few words, for the list of all.
            run: gives the exit status; None shows the help.
            text: says more in its help.
            words: what its words are called, if it has any.
            passes_on: whether a parser of its own reads its arguments, as Hydra does.
            takes_json: whether it has the flag `JSON`.
            options: of the parser.
        """
        assert self.commands is not None
        added = self.commands.add_parser(
            name, help=meaning, description=text or f"{meaning[0].upper()}{meaning[1:]}.", **options
        )
        added.set_defaults(passes_on=passes_on)
        if run is not None:
            added.set_defaults(run=run)
        if words is not None:
            help_ = "see scarf options" if OVERRIDES in words else None
            added.words = added.add_argument("words", nargs="*", metavar=words, help=help_)
        if takes_json:
            added.add_argument(JSON, action="store_true", help="print one JSON object")
        return added

    def below(self) -> "Iterator[Parser]":
        """The parsers of its commands, and of theirs."""
        for command in self.commands.choices.values() if self.commands else ():
            yield command
            yield from command.below()

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; {self.prog} --help says more.")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        # Before Python 3.14 argparse names no command that may have been meant.
        if self.commands and args and not args[0].startswith("-") and args[0] not in self.commands.choices:
            known = list(self.commands.choices)
            fault = f"{self.prog} has no command {args[0]}"
            raise UsageError(unknown_name(fault, args[0], known, "its commands", full_list=f"{self.prog} --help"))
        return super().parse_known_args(args, namespace)
