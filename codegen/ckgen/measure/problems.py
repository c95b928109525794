"""A problem of a command line as a Case."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ckgen.families.common.signature import Signature
from ckgen.families.gemm.enums import Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.fuzz.case import Case
from ckgen.fuzz.operations import operation_of
from ckgen.model.arch import Vendor
from ckgen.model.op_words import FLOAT8
from ckgen.model.target import Target
from ckgen.specs.archs import load_arch

SEED = 1
"""Of operands, and where sequences may differ, of their lengths."""


def case_of(signature: Signature, target: Target, problem: Any) -> Case:
    """`problem` is what a Family's `asked_problem` gives; UsageError for sizes that a Case does not hold.

    Operands are such that kernels of the target have one right result, and lie as they take them: those of NVIDIA load
    scales of blocks of A by descriptors, as [K/128][M].
    """
    arch = load_arch(target.gfx)
    case = Case(signature.canonical(), str(target), seed=SEED)
    if arch.vendor is Vendor.NVIDIA and isinstance(signature, GemmSignature):
        turned = signature.quant is Quant.BLOCKSCALE
        bits = arch.fp8_sum_bits if signature.a in FLOAT8 else case.sum_bits
        case = replace(case, scale_columns=turned, sum_bits=bits)
    return operation_of(signature).asked(case, problem)
