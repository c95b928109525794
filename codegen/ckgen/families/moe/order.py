"""The order of additions of a layer of experts and of its products."""

from __future__ import annotations

from collections.abc import Sequence

from ckgen.families.common.order import NO_ORDER, Order
from ckgen.families.gemm import order as gemm
from ckgen.families.gemm.enums import MoePart, Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.ck_config import CkMoeConfig
from ckgen.families.moe.config import MoePairConfig
from ckgen.families.moe.constraints import constraints_of
from ckgen.families.moe.parts import part_signatures
from ckgen.model.config import Config


def order_of(signature: GemmSignature, config: Config, archs: Sequence[str]) -> Order:
    """That of both products, where a layer has two. A layer's H has one scale per tensor: all tokens decide it."""
    if signature.moe.part is MoePart.LAYER and signature.quant is Quant.PER_TENSOR:
        return NO_ORDER
    if constraints_of(signature, config).atomic_split and signature.moe.part is not MoePart.GATE_UP:
        return NO_ORDER  # experts add to a token's row as they finish
    if isinstance(config, MoePairConfig):
        parts = zip(part_signatures(signature), (config.gate_up, config.down), strict=True)
        both = [order_of(part, one, archs).whole for part, one in parts]
        return Order(" then ".join(both)) if all(both) else NO_ORDER
    if isinstance(config, CkMoeConfig):
        words = f"ck moe {config.op} k{config.tile.k} pack {config.k_pack} v{config.pipeline}"
        return Order(words, f"{words} splits of {config.macro_tile.k}")
    return gemm.order_of(signature, config, archs)
