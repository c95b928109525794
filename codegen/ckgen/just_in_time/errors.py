"""Why `ckgen.jit` has no library."""

from __future__ import annotations

from ckgen.model.errors import CkgenError


class JitFailure(CkgenError):
    """A build failed; the text ends with the file that has all of its output."""


class JitDisabled(CkgenError):
    """CKGEN_DISABLE_JIT is set, and this library is not built; the text says what to add ahead of time."""

    exit_code = 2
