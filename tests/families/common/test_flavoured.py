"""Plain 8-bit floats of a signature become the arch's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.dtype import DType, Fp8Flavour


@pytest.mark.parametrize("of", [FmhaSignature.of, GemmSignature.of])
def test_each_type_becomes_the_archs(of: Callable[..., FmhaSignature | GemmSignature]) -> None:
    plain = of(DType.FP8, DType.BF8, b=DType.BF8)
    assert plain.resolved(Fp8Flavour.OCP) == of(DType.FP8_OCP, DType.BF8_OCP, b=DType.BF8_OCP)
    assert plain.resolved(Fp8Flavour.FNUZ) == of(DType.FP8_FNUZ, DType.BF8_FNUZ, b=DType.BF8_FNUZ)


def test_one_without_them_stays_as_it_is() -> None:
    given = FmhaSignature.of(DType.BF16)
    assert given.resolved(Fp8Flavour.OCP) == given
