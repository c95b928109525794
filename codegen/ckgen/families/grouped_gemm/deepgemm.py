"""AITER's module `deepgemm`: many products over a preshuffled B, rows of each known on the device only.

Its kernel class is ck_tile's GroupedFlatmmKernel with MaskedGroupedFlatmmHostArgs: A, B and C of all groups lie behind
each other with room for as many rows each, and an array of the device tells the rows in use. Here those are Groups
whose sizes are on the device; the same pipeline and epilogue compute each tile (GroupedFlatmm in
dispatcher_cpp/backends/ck_tile/grouped_scaled.hpp). Which kernel a problem takes is the module's decision rule,
families/gemm/heuristics/*_deepgemm.json: by the rows that there is room for.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.families.gemm.config import CkTileConfig, TilePipeline
from ckgen.families.gemm.enums import Layout, Op, Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.config import Tile
from ckgen.model.dtype import DType

MODULE = "deepgemm"

_NAME = re.compile(
    r"deepgemm_(?P<block>\d+)x(?P<m>\d+)x(?P<n>\d+)x(?P<k_bytes>\d+)"
    r"_(?P<warp_m>\d+)x(?P<warp_n>\d+)x(?P<warp_k>\d+)_(?P<waves_m>\d+)x(?P<waves_n>\d+)"
)
_FP8 = (DType.FP8, DType.FP8_FNUZ, DType.FP8_OCP)
_OUTS = {
    DType.FP16: (DType.FP16,),
    DType.BF16: (DType.BF16,),
    **dict.fromkeys(_FP8, (DType.BF16, DType.FP16)),
}
_WAVE = 64


@cache
def names() -> tuple[str, ...]:
    """The kernels that AITER builds, in its order."""
    return tuple(_data()["kernels"])


def is_deepgemm(signature: GemmSignature) -> bool:
    """Whether the module computes it: 16-bit floats unscaled, fp8 unscaled or with a scale per row and column."""
    scaled = signature.quant is Quant.ROWWISE and signature.a in _FP8
    plain = signature.op is Op.GROUPED_GEMM and signature.layout is Layout.RCR and signature.preshuffle_b
    types = signature.a is signature.b and signature.c in _OUTS.get(signature.a, ())
    return plain and types and (scaled or signature.quant is Quant.NONE) and not (signature.bias or signature.epilogue)


@cache
def config_of(name: str, operand: DType) -> CkTileConfig | None:
    """What a name means for operands of that type; None for a name of another form."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    said = {field: int(digits) for field, digits in match.groupdict().items()}
    size = operand.bits // 8
    waves = (said["waves_m"], said["waves_n"], 1)
    if said["block"] != waves[0] * waves[1] * _WAVE:
        return None
    return CkTileConfig(
        tile=Tile(said["m"], said["n"], said["k_bytes"] // size),
        warps=waves,
        warp_tile=Tile(said["warp_m"], said["warp_n"], _data()["warp_k_bytes"] // size),
        pipeline=TilePipeline.FLATMM,
        persistent=True,
    )


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return data
