"""Kernels that take almost any problem of experts, for signatures that no kernel set names.

No arch is named: all are tried, and rules say which an arch can have. A layer has a pair for each block_m, which costs
choose by the rows that its experts have.
"""

from __future__ import annotations

from ckgen.families.gemm.enums import MoePart, Quant
from ckgen.families.gemm.robust import host_config
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.ck_config import CkMoeConfig, CkMoeOp
from ckgen.families.moe.config import MoePairConfig
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.config import Config, Tile
from ckgen.model.dtype import DType

_BLOCKS = (32, 64)
_BLOCKS_OF_CPUS = (32, 16, 64, 128)
_STEP_BYTES = 128
_OPS = {
    Quant.NONE: (CkMoeOp.CAST, CkMoeOp.CAST_WEIGHT),
    Quant.PER_TENSOR: (CkMoeOp.SCALE, CkMoeOp.SCALE_WEIGHT),
    Quant.ROWWISE: (CkMoeOp.SCALE, CkMoeOp.SCALE_WEIGHT),
    Quant.BLOCKSCALE: (CkMoeOp.BLOCK_SCALE, CkMoeOp.BLOCK_SCALE),
    Quant.MX: (CkMoeOp.SCALE_SHUFFLED, CkMoeOp.SCALE_WEIGHT_SHUFFLED),
}
"""Of gate_up and of down."""


def robust_configs(signature: GemmSignature, arch: ArchSpec) -> tuple[tuple[Config, ...], ...]:
    """The kernels of every block_m together."""
    if arch.kind is ArchKind.CPU:
        return (tuple(host_config(arch, block_m) for block_m in _BLOCKS_OF_CPUS),)
    return (tuple(_kernel(signature, block_m) for block_m in _BLOCKS),)


def _kernel(signature: GemmSignature, block_m: int) -> Config:
    gate_up, down = (_part(signature, block_m, op) for op in _OPS[signature.quant])
    match signature.moe.part:
        case MoePart.GATE_UP:
            return gate_up
        case MoePart.DOWN:
            return down
    return MoePairConfig(gate_up, down)


def _part(signature: GemmSignature, block_m: int, op: CkMoeOp) -> CkMoeConfig:
    """A step of K is 128 bytes of a row. N is a block of scales, or two XDL tiles of a wave, which share a word."""
    columns = 128 if signature.quant in (Quant.BLOCKSCALE, Quant.MX) else 64
    pipeline = 1 if block_m == min(_BLOCKS) and signature.quant is not Quant.MX else 3
    pack = 2 if signature.a is DType.FP4 else 1
    step = _STEP_BYTES * 8 // (signature.a.bits * pack)
    return CkMoeConfig(256, Tile(block_m, columns, step), (1, 4), op, pipeline, k_pack=pack)
