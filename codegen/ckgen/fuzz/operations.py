"""The operations that are fuzzed, each by the word of its signatures; a new one is one more line."""

from __future__ import annotations

from collections.abc import Mapping

from ckgen.families.common.signature import Signature
from ckgen.fuzz.fmha import OPERATION as FMHA
from ckgen.fuzz.gemm import OPERATION as GEMM
from ckgen.fuzz.grouped import OPERATION as GROUPED_GEMM
from ckgen.fuzz.moe import OPERATION as MOE
from ckgen.fuzz.operation import FuzzedOperation

OPERATIONS: Mapping[str, FuzzedOperation] = {"gemm": GEMM, "grouped_gemm": GROUPED_GEMM, "moe": MOE, "fmha": FMHA}


def operation_of(signature: Signature) -> FuzzedOperation:
    """That of a signature."""
    return OPERATIONS[str(signature.op)]
