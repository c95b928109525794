"""What a grouped GEMM must give: each group what a GEMM of its own gives, whatever the other groups are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ckgen.families.common.comparison import Expected
from ckgen.families.gemm import reference as gemm
from ckgen.families.gemm import reference_data as data
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.reference import Operands
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.groups import GroupSize
from ckgen.model.tuned_row import Shape


def make_operands(signature: GemmSignature, sizes: Sequence[GroupSize], seed: int) -> tuple[Operands, ...]:
    """Operands of each group, different ones for each; the epilogue's factor is the same in all."""
    alone = replace(signature, op=Op.GEMM)
    groups = [
        data.make_operands(alone, Shape(0, size.m, size.n, size.k), seed + index) for index, size in enumerate(sizes)
    ]
    return tuple(replace(group, alpha=groups[0].alpha) for group in groups)


def expect(groups: Sequence[Operands]) -> tuple[Expected, ...]:
    """The exact C of every group, [1, M, N], and its bound: of a group without K the epilogue of zero."""
    return tuple(gemm.expect(group) for group in groups)
