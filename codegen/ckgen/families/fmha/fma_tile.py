"""What Configs of ckgen's own kernels of attention share that have no matrix instructions."""

from __future__ import annotations

from typing import ClassVar

from ckgen.families.common.config_words import Ints3
from ckgen.model.backend import Backend
from ckgen.model.hash_once import HashOnce

WAVES = 4


class FmaTiled(HashOnce):
    """Base of such Configs; they are dataclasses with these fields: rows, keys, and the largest head dim."""

    __slots__ = ()
    backend: ClassVar[Backend] = Backend.HIP
    m0: int
    n0: int
    hdim: int

    @property
    def waves(self) -> Ints3:
        """Work-items share rows and keys."""
        return (WAVES, 1, 1)

    @property
    def k_grain(self) -> int:
        """Rows and keys are taken one by one at their end."""
        return 1
