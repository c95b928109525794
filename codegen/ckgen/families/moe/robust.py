"""Kernels that take almost any problem of experts, for signatures that no kernel set names.

No arch is named: all are tried, and rules say which an arch can have. A layer has a pair for each block_m, of which a
decision rule chooses by the rows that its experts have; costs do where the rule's choice cannot run.
"""

from __future__ import annotations

import re

from ckgen.families.gemm.enums import MoePart, Quant
from ckgen.families.gemm.robust import host_config
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.ck_config import CkMoeConfig, CkMoeOp
from ckgen.families.moe.config import MoePairConfig
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.config import Config, Tile
from ckgen.model.dtype import DType

_BLOCKS = (32, 64, 128)
_BLOCKS_UNDER_SCALES = (32, 64, 16)
_BLOCKS_OF_CPUS = (32, 16, 64, 128)
_STEP_BYTES = 128
_DEEP = 64
_FULL_ROWS = 32
_RULED = {Quant.BLOCKSCALE: "moe_blockscale"}
_RULED |= dict.fromkeys((Quant.NONE, Quant.PER_TENSOR, Quant.ROWWISE), "moe")
RULED_MODULES = frozenset(_RULED.values())
"""The words of its decision rules."""
_LEAF = re.compile(r"block_m(?P<rows>[0-9]+)")
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
    blocks = _BLOCKS_UNDER_SCALES if signature.quant is Quant.BLOCKSCALE else _BLOCKS
    return (tuple(_kernel(signature, block_m) for block_m in blocks),)


def ruled_module(signature: GemmSignature) -> str:
    """The word of the decision rule that chooses among them, families/gemm/heuristics/*_<word>.json; empty: none."""
    return _RULED.get(signature.quant, "")


def config_of_leaf(name: str, signature: GemmSignature) -> Config | None:
    """The kernel that an arm of such a rule names, `block_m<rows>`; None for a name of another form."""
    match = _LEAF.fullmatch(name)
    return _kernel(signature, int(match["rows"])) if match is not None else None


def _kernel(signature: GemmSignature, block_m: int) -> Config:
    gate_up, down = (_part(signature, block_m, op) for op in _OPS[signature.quant])
    match signature.moe.part:
        case MoePart.GATE_UP:
            return gate_up
        case MoePart.DOWN:
            return down
    return MoePairConfig(gate_up, down)


def _part(signature: GemmSignature, block_m: int, op: CkMoeOp) -> CkMoeConfig:
    """A step of K is 128 bytes of a row, 256 where there are fewer rows than work-items to copy them.

    N is a block of scales, or two XDL tiles of a wave, which share a word.
    """
    columns = 128 if signature.quant in (Quant.BLOCKSCALE, Quant.MX) else 64
    pipeline = 3 if block_m >= _DEEP or signature.quant is Quant.MX else 1
    pack = 2 if signature.a is DType.FP4 else 1
    bytes_of_k = _STEP_BYTES * (2 if block_m < _FULL_ROWS else 1)
    step = bytes_of_k * 8 // (signature.a.bits * pack)
    return CkMoeConfig(256, Tile(block_m, columns, step), (1, 4), op, pipeline, k_pack=pack)
