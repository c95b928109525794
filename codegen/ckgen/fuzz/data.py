"""The operands of a case, and whether a result is one that the definition allows."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random

import numpy as np

from ckgen.families.common.comparison import Expected, compare
from ckgen.families.common.storage import Storage, Values, decode, encode
from ckgen.families.gemm.enums import OperandOp
from ckgen.families.gemm.reference import Operands, expect, expect_of_integers
from ckgen.families.gemm.reference_data import make_integers, make_operands
from ckgen.families.gemm.signature import GemmSignature
from ckgen.fuzz.arguments import shared
from ckgen.fuzz.case import Case, Data
from ckgen.model.dtype import DType
from ckgen.model.tuned_row import Shape

_NARROW = frozenset({
    DType.INT4, DType.INT8, DType.FP16, DType.FP4, DType.FP8_FNUZ, DType.FP8_OCP, DType.BF8_FNUZ, DType.BF8_OCP,
})  # fmt: skip
"""Products of any two values sum up in the accumulator without leaving it."""
_WITH_NAN = _NARROW - {DType.INT4, DType.INT8, DType.FP4} | {DType.BF16, DType.FP32}


def operands_of(signature: GemmSignature, case: Case, shape: Shape, parts: int) -> Operands:
    """The case's data, on values of make_operands; on integers where they are asked for, or C is a sum of parts.

    EXTREME and SPECIAL are left out where the signature's types or options cannot have them.
    """
    if _is_rounded_once(case, parts):
        operands = make_operands(signature, shape, case.seed, case.sum_bits)
    else:
        operands = make_integers(signature, shape, case.seed)
    is_plain = not signature.epilogue and signature.a_op is signature.b_op is OperandOp.NONE
    if case.data is Data.ZEROS:
        a, b = operands.a * (case.seed % 2), operands.b * (1 - case.seed % 2)
        operands = replace(operands, a=a, b=b)
    elif case.data is Data.EXTREME and is_plain and parts == 1 and {signature.a, signature.b} <= _NARROW:
        random = np.random.default_rng(case.seed)
        a = random.choice(_finite_values(signature.a), operands.a.shape)
        operands = replace(operands, a=a, b=random.choice(_finite_values(signature.b), operands.b.shape))
    elif case.data is Data.SPECIAL and is_plain:
        operands = _with_specials(signature, case, operands)
    return shared(case, operands)


def expected_of(operands: Operands, case: Case, parts: int) -> Expected:
    """The exact result and its bound, of C added up from so many parts; 0 where only one result is right."""
    return expect(operands) if _is_rounded_once(case, parts) else expect_of_integers(operands)


def _is_rounded_once(case: Case, parts: int) -> bool:
    return case.data is not Data.INTEGERS and parts == 1


def wrong(expected: Expected, actual: Storage) -> str:
    """The first element that no correct kernel gives; empty if there is none.

    A NaN is asked for where the exact result is one, and an infinity where it is that infinity.
    """
    found = decode(actual).reshape(expected.c.shape)
    if np.array_equal(found, expected.c):
        return ""
    is_special = ~np.isfinite(expected.c)
    is_right = np.where(np.isnan(expected.c), np.isnan(found), found == expected.c)
    if not is_right[is_special].all():
        return _described(expected.c, found, is_special & ~is_right, "")
    finite = Expected(np.where(is_special, 0.0, expected.c), np.where(is_special, 0.0, expected.bound))
    compared = compare(finite, np.where(is_special, 0.0, found))
    if compared.ok:
        return ""
    assert compared.first is not None
    at = (compared.first.batch, compared.first.row, compared.first.column)
    bad = np.zeros(found.shape, bool)
    bad[at] = True
    text = f", {compared.wrong} of {found.size} wrong, at most {compared.excess:.3g} bounds"
    return _described(expected.c, found, bad, text)


def _described(exact_c: Values, found: Values, bad: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], more: str) -> str:
    at = tuple(int(index) for index in np.argwhere(bad)[0])
    place = ", ".join(map(str, at))
    return f"C[{place}] is {found[at]:.9g}, not {exact_c[at]:.9g}{more}"


def _with_specials(signature: GemmSignature, case: Case, operands: Operands) -> Operands:
    random = Random(case.seed)
    a, b = operands.a.copy(), operands.b.copy()
    for values, dtype in ((a, signature.a), (b, signature.b)):
        if dtype not in _WITH_NAN or not values.size:
            continue
        for _ in range(random.randint(0, 2)):
            at = tuple(random.randrange(size) for size in values.shape)
            values[at] = decode(encode(np.array(random.choice((np.nan, np.inf, -np.inf))), dtype))
    return replace(operands, a=a, b=b)


@cache
def _finite_values(dtype: DType) -> Values:
    if dtype in (DType.INT4, DType.INT8):
        return np.arange(-(2.0 ** (dtype.bits - 1)), 2.0 ** (dtype.bits - 1))
    codes = np.arange(1 << dtype.bits, dtype=np.uint8 if dtype.bits <= 8 else np.uint16)
    values = decode(codes.view(encode(np.zeros(1), dtype).dtype))
    return values[np.isfinite(values)]
