"""What other libraries have for the same product, a file for each.

A peer of CPUs is a module with `offers(a, b)`, which gives bodies by name for C = A · Bᵀ of arrays [m, k] and [n, k],
and `array_of(result)`, which makes an array of what such a call returns. One of GPUs has `device_offers(sets, dtype,
gpu)` of arguments in that GPU's memory, whose calls write C there. A new one is one more line here.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import Any

from ckgen.model.errors import UsageError

PEERS: Mapping[str, str] = {"numpy": "numpy_blas", "torch": "torch_cpu", "cublaslt": "cublaslt"}
"""Names of --peer, and their modules."""


def check_peers(names: Iterable[str]) -> None:
    """UsageError for a name that is not known."""
    for name in names:
        if name not in PEERS:
            raise UsageError(f"--peer {name}: no such peer (known: {', '.join(PEERS)})")


def peer(name: str) -> Any:
    """The module of that name, which is known."""
    return importlib.import_module(f"{__name__}.{PEERS[name]}")
