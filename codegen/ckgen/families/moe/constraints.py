"""What kernels of an MoE layer ask of its problems, as their own host code does."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

from ckgen.families.common.asm_config import AsmConfig
from ckgen.families.gemm import constraints as gemm
from ckgen.families.gemm.constraints import of_whole_sums
from ckgen.families.gemm.enums import MoePart
from ckgen.families.gemm.hip_config import HipConfig
from ckgen.families.gemm.mxfp8_envelope import envelope
from ckgen.families.gemm.problem_rules import Constraints, RoutedConstraints
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.asm_kernels import asm_moe_kernel_of
from ckgen.families.moe.ck_config import CkMoeConfig
from ckgen.families.moe.config import MoePairConfig
from ckgen.families.moe.parts import part_signatures
from ckgen.model.config import Config


@cache
def constraints_of(signature: GemmSignature, config: Config) -> Constraints:
    """What a problem of `signature` must satisfy for `config`; a layer's epilogue is between its kernels."""
    if isinstance(config, MoePairConfig):
        gate_up, down = part_signatures(signature)
        return layer_constraints(constraints_of(gate_up, config.gate_up), constraints_of(down, config.down))
    if isinstance(config, AsmConfig):
        return of_whole_sums(signature, config, shipped_constraints(config))
    if isinstance(config, CkMoeConfig):
        return of_whole_sums(signature, config, ck_part_constraints(signature, config))
    if isinstance(config, HipConfig) and config.kind.is_moe:
        return of_whole_sums(signature, config, hip_constraints(signature, config))
    return gemm.constraints_of(signature, config)


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


def hip_constraints(signature: GemmSignature, config: HipConfig) -> Constraints:
    """The envelope: which K, how many routed rows, and each tensor within what a raw buffer reaches.

    Of two block_n each takes the N of its own; unsorted tokens are for the least block_m: so which kernel answers does
    not depend on the number of experts, but for the bound on routed rows.
    """
    known = envelope()
    kind, own, most = known.kinds[config.kind], known.experts[config.kind], known.max_bytes
    narrow_n = known.narrow_rows // (2 if signature.moe.gated else 1)
    is_choice, is_narrow = len(kind.block_n) > 1, config.block_n == min(kind.block_n)
    routed = RoutedConstraints(
        min_n=narrow_n + 1 if is_choice and not is_narrow else 0,
        max_n=narrow_n if is_choice and is_narrow else 0,
        max_k=own.max_k,
        max_routed=own.most_routed,
        few_experts=own.few_experts,
        max_routed_few=own.most_routed_few,
        presorted=config.m != min(kind.m),
        max_weights=most,
    )
    is_one_k = own.k_multiple == own.max_k  # its other bound then says that another kernel is meant
    k_multiple, min_k = (0, own.max_k) if is_one_k else (own.k_multiple, 0)
    return Constraints(k_multiple=k_multiple, min_k=min_k, max_ab=most, max_c=most // 2, routed=routed)


def layer_constraints(gate_up: Constraints, down: Constraints) -> Constraints:
    """Those of both parts: what is N of the one is K of the other."""
    return Constraints(
        n_multiple=_both(gate_up.n_multiple, down.k_multiple),
        k_multiple=_both(gate_up.k_multiple, down.n_multiple),
        min_k=max(gate_up.min_k, down.routed.min_n),
        atomic_split=down.atomic_split,
        max_ab=_least(gate_up.max_ab, down.max_ab),
        max_c=_least(gate_up.max_c, down.max_c),
        max_m=_least(gate_up.max_m, down.max_m),
        routed=_layer_routed(gate_up, down),
    )


def _layer_routed(gate_up: Constraints, down: Constraints) -> RoutedConstraints:
    """gate_up's weights are at least down's; the bound with few experts is that of the part that has one."""
    first, second = gate_up.routed, down.routed
    few = max(first, second, key=lambda one: one.few_experts)
    return replace(
        few,
        min_n=max(first.min_n, down.min_k),
        max_n=_least(first.max_n, second.max_k),
        max_k=_least(first.max_k, second.max_n),
        max_routed=_least(first.max_routed, second.max_routed),
        presorted=first.presorted or second.presorted,
        max_weights=_least(first.max_weights, second.max_weights),
    )


def _both(first: int, second: int) -> int:
    return math.lcm(max(first, 1), max(second, 1))


def _least(first: int, second: int) -> int:
    return min((most for most in (first, second) if most), default=0)
