"""Which library the operations of torch are answered by."""

from __future__ import annotations

from typing import Any

from ckgen.model.errors import UsageError
from ckgen.runtime import Library

_library: Library | None = None


def use(library: Library) -> None:
    """Every `torch.ops.ckgen` call of this process that begins from now on is the library's.

    Compiled graphs hold the operation, not the library: they follow.
    """
    global _library
    _library = library


def current() -> Library:
    """The library; UsageError where none was named."""
    if _library is None:
        raise UsageError("no library answers ckgen's operations: ckgen.torch.use(ckgen.jit(…)) or use(ckgen.load(…))")
    return _library


def is_tuned(signature: str, problem: Any) -> bool:
    """Whether a measured row answers sizes as `ckgen.Shape` and others say them, on the library's device."""
    return current().is_tuned(signature, problem)
