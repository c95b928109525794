"""Click groups that import a command when it is called, and the commands' way out: every error an exit code."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import click

SIGNALLED_PIPE = 141


class Entry(NamedTuple):
    """The module that holds a sub-command as `command`, None where an extension brings it; its help in a line."""

    module: str | None
    help: str


class LazyGroup(click.Group):
    """A group whose help needs no import of its commands."""

    def __init__(self, *args: Any, entries: Mapping[str, Entry], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now."""
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        if entry.module is None:
            return _brought(cmd_name, entry.help)
        command: click.Command = importlib.import_module(entry.module).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The names and one-line helps of the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in self.entries.items()])


def _brought(name: str, text: str) -> click.Command:
    """The extension's command; where it is not installed one that says so, whatever it is given."""
    from ckgen.extension import COMMANDS, extension
    from ckgen.model.errors import UsageError

    try:
        found: click.Command = extension(COMMANDS, name, f"`ckgen {name}`")
    except UsageError as error:
        return _absent(name, text, error)
    return found


def _absent(name: str, text: str, why: Exception) -> click.Command:
    """Not raised at once: who completes words in a shell asks for every command."""

    def refuse(words: tuple[str, ...]) -> None:
        raise why

    return click.Command(
        name,
        callback=refuse,
        params=[click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)],
        short_help=text,
        add_help_option=False,
        context_settings={"ignore_unknown_options": True},
    )


class RootGroup(LazyGroup):
    """The outermost group: what a command returns is the exit code, and no error shows a traceback."""

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **extra: Any
    ) -> int:
        """Runs the command line and exits; without `standalone_mode` returns the exit code."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        try:
            code: int = super().main(args, standalone_mode=False, **extra) or 0
        except (Exception, KeyboardInterrupt) as error:
            from ckgen.cli.errors import report

            code = report(error)
        if standalone_mode:
            sys.exit(code)
        return code

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the sub-command; a reader that went away ends it quietly."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return SIGNALLED_PIPE
