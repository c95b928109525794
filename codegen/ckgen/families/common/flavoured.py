"""Signatures whose 8-bit floats may be of any arch's flavour."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, Self

from ckgen.model.dtype import DType, Fp8Flavour


class Flavoured:
    """A frozen signature of three types."""

    __slots__ = ()
    a: DType
    b: DType
    c: DType

    def resolved(self, flavour: Fp8Flavour | None) -> Self:
        """The same with plain fp8 and bf8 in the arch's flavour."""
        found: Self = _resolved(self, flavour)
        return found


@cache
def _resolved(signature: Any, flavour: Fp8Flavour | None) -> Any:
    given = signature.a, signature.b, signature.c
    a, b, c = (dtype.resolve(flavour) for dtype in given)
    return signature if (a, b, c) == given else replace(signature, a=a, b=b, c=c)
