"""What each kind of error says on stderr, and the exit code that it means."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

import click

from ckgen.cli.output import say, say_diagnostics, show_json
from ckgen.cli.settings import FromFile
from ckgen.model.diagnostic import Diagnostic
from ckgen.model.errors import CkgenError, InputError, UsageError

INTERRUPTED = 130
INTERNAL = 4


class Command(click.Command):
    """A command whose shared options a file of settings may answer, and whose `--json` speaks of wrong input too."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context; what is wrong with the file of settings (exit 3) is a JSON document too."""
        wants_json = "--json" in args
        if parent is not None:
            extra.setdefault("default_map", FromFile(self, parent.find_root()))
        try:
            return super().make_context(info_name, args, parent, **extra)
        except InputError as error:
            if wants_json:
                show_json(error_document(error))
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; invalid input (exit 3) becomes a JSON document before it is reported."""
        try:
            return super().invoke(ctx)
        except (InputError, OSError) as error:
            if ctx.params.get("as_json") and not isinstance(error, BrokenPipeError):
                show_json(error_document(error))
            raise


def error_document(error: InputError | OSError) -> dict[str, object]:
    """The JSON of a run that ended with exit 3."""
    found: tuple[Diagnostic, ...] = error.diagnostics if isinstance(error, InputError) else ()
    text = "invalid input" if found else _plain(error)
    return {"error": text, "diagnostics": [diagnostic.to_json() for diagnostic in found]}


def report(error: BaseException) -> int:
    """Says what is wrong on stderr; the exit code."""
    if isinstance(error, KeyboardInterrupt | click.Abort):
        say("interrupted")
        return INTERRUPTED
    if isinstance(error, click.ClickException):
        error.show()
        return UsageError.exit_code
    if isinstance(error, InputError):
        say_diagnostics(error.diagnostics)
        return error.exit_code
    if isinstance(error, CkgenError):
        say(f"error: {error}")
        return error.exit_code
    if isinstance(error, OSError):
        say(f"error: {_plain(error)}")
        _drop_what_cannot_be_written()
        return InputError.exit_code
    if isinstance(error, RecursionError):
        say("error: the input is nested too deeply")
        return InputError.exit_code
    if os.environ.get("CKGEN_TRACEBACK") == "1":
        traceback.print_exception(error)
    text = " ".join(str(error).split())
    say(f"internal error: {type(error).__name__}: {text}; please report it (CKGEN_TRACEBACK=1 shows where)")
    return INTERNAL


def _drop_what_cannot_be_written() -> None:
    """Python writes what stdout has buffered once more when it ends, and would end with 120 where that fails again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _plain(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    return str(error)
