"""The errors that a command turns into an exit code; anything else is internal (exit 4)."""

from __future__ import annotations

from collections.abc import Iterable

from ckgen.model.diagnostic import Diagnostic, in_order


class CkgenError(Exception):
    """Base of all errors that a user can mend."""

    exit_code = 4


class UsageError(CkgenError):
    """The command line or the environment asks for something that does not exist (exit 2)."""

    exit_code = 2


class InputError(CkgenError):
    """Input files are wrong (exit 3); carries every diagnostic found, in file order."""

    exit_code = 3

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = in_order(diagnostics)
        super().__init__("\n".join(d.render() for d in self.diagnostics))
