"""An instance's one name and its id."""

from __future__ import annotations

import hashlib
from typing import Protocol

from ckgen.model.backend import Backend
from ckgen.model.config import Config


class Canonical(Protocol):
    """A signature of any operation."""

    def canonical(self) -> str:
        """The identifier-safe name."""
        ...


def instance_name(signature: Canonical, backend: Backend, config: Config) -> str:
    """`<canonical signature>_<backend>_<config>`: identifier-safe, injective over all three."""
    return f"{signature.canonical()}_{backend}_{config.text()}"


def instance_id(name: str) -> int:
    """The first 64 bits of the name's SHA-256."""
    return int(hashlib.sha256(name.encode("ascii")).hexdigest()[:16], 16)
