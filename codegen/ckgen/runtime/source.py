"""What a library was loaded from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class LibrarySource:
    """The shared library, and the generated libraries in it; `device_names`: those of GPU code."""

    path: Path
    names: tuple[str, ...]
    device_names: tuple[str, ...] = ()
