"""What a function of AITER's takes and ckgen does not compute."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ckgen.model.errors import CkgenError

CHOSEN = "the dispatcher chooses it"


class Refused(CkgenError, NotImplementedError):
    """What AITER's function takes and ckgen has no kernel or no call for."""

    exit_code = 3


def refuse(value: Any, name: str, reason: str) -> None:
    """Refused where the argument is given."""
    if value is not None:
        raise Refused(f"{name} is given, and {reason}")


def fp32(tensor: Tensor | None) -> Tensor | None:
    """One row of fp32."""
    return None if tensor is None else tensor.reshape(-1).float()


def word(value: Any) -> str:
    """The name of an enum's member, or the text."""
    return str(getattr(value, "name", value))
