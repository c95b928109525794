"""What every family's signatures can say of themselves."""

from __future__ import annotations

from functools import cache
from typing import Protocol, Self

from ckgen.model.dtype import DType, Fp8Flavour


class Signature(Protocol):
    """What every family's signatures can say of themselves."""

    @property
    def op(self) -> object:
        """The operation, whose text names the family."""
        ...

    @property
    def a(self) -> DType:
        """The first operand's type."""
        ...

    @property
    def b(self) -> DType:
        """The second operand's type."""
        ...

    def canonical(self) -> str:
        """The identifier-safe name."""
        ...

    def describe(self) -> str:
        """The form for people."""
        ...

    def problems(self) -> tuple[str, ...]:
        """Why this combination of fields means nothing; empty for a legal signature."""
        ...

    def resolved(self, flavour: Fp8Flavour | None) -> Self:
        """The same with plain fp8 and bf8 in the arch's flavour."""
        ...

    def __hash__(self) -> int: ...


def of_flavour(signature: Signature, flavour: Fp8Flavour | None) -> bool:
    """Whether the operands hold no 8-bit float of another flavour; a plain fp8 is of any."""
    others = _other_flavours(flavour)
    return signature.a not in others and signature.b not in others


@cache
def _other_flavours(flavour: Fp8Flavour | None) -> frozenset[DType]:
    others = [other for other in Fp8Flavour if other is not flavour]
    return frozenset(dtype.resolve(other) for dtype in (DType.FP8, DType.BF8) for other in others)
