"""A kernel that AMD ships as code objects, whatever it computes."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.families.common.asm_config import AsmConfig


@dataclass(frozen=True, slots=True)
class AsmObject:
    """A kernel's code object in the wheel. `kernarg` and `lds` in bytes, `block` in work-items."""

    arch: str
    path: str
    sha256: str
    kernarg: int
    lds: int
    block: int


@dataclass(frozen=True, slots=True)
class ShippedKernel:
    """A kernel by its symbol, with its code objects."""

    symbol: str
    config: AsmConfig
    objects: tuple[AsmObject, ...]

    @property
    def archs(self) -> tuple[str, ...]:
        """The archs that there is a code object for."""
        return tuple(found.arch for found in self.objects)

    def on(self, arch: str) -> AsmObject | None:
        """The code object for an arch; None where there is none."""
        return next((found for found in self.objects if found.arch == arch), None)
