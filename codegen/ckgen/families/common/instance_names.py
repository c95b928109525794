"""Names of instances read back: the signature, and the Config with its backend, that `instance_name` joined."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ckgen.families.common.signature import Signature
from ckgen.model.backend import Backend
from ckgen.model.config import Config
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.errors import UsageError

S = TypeVar("S", bound=Signature)
C = TypeVar("C", bound=Config)


def read_instance_name(
    name: str, parse_signature: Callable[[str], S], parse_config: Callable[[S, Backend, str], C | None]
) -> tuple[S, C] | None:
    """What an instance's name says; None for a name that no instance has.

    `parse_signature` raises UsageError for what is no canonical name, `parse_config` is the inverse of a Config's text.
    An instance's signature has no plain fp8.
    """
    for backend in Backend:
        mark = f"_{backend}_"
        at = name.find(mark)
        while at >= 0:
            signature = _signature(name[:at], parse_signature)
            config = parse_config(signature, backend, name[at + len(mark) :]) if signature is not None else None
            if signature is not None and config is not None:
                return signature, config
            at = name.find(mark, at + 1)
    return None


def _signature(text: str, parse: Callable[[str], S]) -> S | None:
    try:
        signature = parse(text)
    except UsageError:
        return None
    is_whole = signature.resolved(Fp8Flavour.OCP) == signature
    return signature if is_whole and not signature.problems() else None
