"""What kernels of an MoE layer ask of its problems, as their own host code does."""

from __future__ import annotations

import math

from ckgen.families.gemm.asm_config import AsmConfig
from ckgen.families.gemm.enums import MoePart
from ckgen.families.gemm.problem_rules import Constraints
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.asm_kernels import asm_moe_kernel_of
from ckgen.families.moe.ck_config import CkMoeConfig


def ck_part_constraints(signature: GemmSignature, config: CkMoeConfig) -> Constraints:
    """N and K in whole tiles: DeviceMoeGemm's IsSupportedArgument. What down gives is added into C."""
    tile = config.macro_tile
    is_down = signature.moe.part is MoePart.DOWN
    return Constraints(n_multiple=tile.n, k_multiple=tile.k, atomic_split=is_down)


def shipped_constraints(config: AsmConfig) -> Constraints:
    """H in whole tiles, K as asm_kinds.json says; A, C and an expert's W1 as 32 bits count their bytes."""
    kernel = asm_moe_kernel_of(config)
    is_layer = kernel.part is MoePart.LAYER
    most = 2**32 - 1
    return Constraints(
        n_multiple=config.tile.n, k_multiple=kernel.k_multiple, atomic_split=is_layer, max_ab=most, max_c=most // 2
    )


def layer_constraints(gate_up: Constraints, down: Constraints) -> Constraints:
    """Those of both parts: what is N of the one is K of the other."""
    return Constraints(
        n_multiple=_both(gate_up.n_multiple, down.k_multiple),
        k_multiple=_both(gate_up.k_multiple, down.n_multiple),
        min_k=gate_up.min_k,
        atomic_split=down.atomic_split,
        max_ab=_least(gate_up.max_ab, down.max_ab),
        max_c=_least(gate_up.max_c, down.max_c),
    )


def _both(first: int, second: int) -> int:
    return math.lcm(max(first, 1), max(second, 1))


def _least(first: int, second: int) -> int:
    return min((most for most in (first, second) if most), default=0)
