"""The texts of the Configs of MoE layers and of their parts read back, as they stand in names of instances."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from ckgen.families.common.asm_config import AsmConfig
from ckgen.families.gemm import config_names as gemm
from ckgen.families.gemm.config import GemmConfig
from ckgen.families.gemm.enums import MoePart
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.asm_kernels import asm_moe_kernels
from ckgen.families.moe.ck_config import CkMoeConfig, CkMoeOp
from ckgen.families.moe.config import MoePairConfig, MoeStageConfig
from ckgen.families.moe.parts import part_signatures
from ckgen.model.backend import Backend
from ckgen.model.config import Tile

_INT = "[1-9][0-9]{0,8}"
_CK = re.compile(
    f"({_INT})x({_INT})x({_INT})x({_INT})_({_INT})x({_INT})_({'|'.join(str(op) for op in CkMoeOp)})_v({_INT})"
    f"(_nswizzle)?(?:_pack({_INT}))?"
)
_PAIR = re.compile("gateup_(.+)_down_(.+)")


def parse_config(
    signature: GemmSignature, backend: Backend, text: str
) -> GemmConfig | CkMoeConfig | MoePairConfig | None:
    """The Config of the backend whose `text()` this is; None where there is none for such a signature."""
    pair = _PAIR.fullmatch(text) if signature.moe.part is MoePart.LAYER else None
    if pair is None:
        return _one(signature, backend, text)
    first, second = (_part(part, words) for part, words in zip(part_signatures(signature), pair.groups(), strict=True))
    if first is None or second is None:
        return None
    found = MoePairConfig(first, second)
    return found if found.backend is backend and found.text() == text else None


def _part(signature: GemmSignature, text: str) -> MoeStageConfig | None:
    """Of `<backend>_<text>`."""
    for backend in Backend:
        config = _one(signature, backend, text.removeprefix(f"{backend}_")) if text.startswith(f"{backend}_") else None
        if config is not None:
            return config
    return None


def _one(signature: GemmSignature, backend: Backend, text: str) -> MoeStageConfig | None:
    if backend is Backend.CK:
        return _ck(text)
    if backend is Backend.ASM:
        return _shipped().get(text)
    found = gemm.parse_config(signature, backend, text)
    assert found is None or isinstance(found, MoeStageConfig)
    return found


def _ck(text: str) -> CkMoeConfig | None:
    found = _CK.fullmatch(text)
    if found is None:
        return None
    block, m, n, k, wave_m, wave_n, op, pipeline, swizzle, pack = found.groups()
    config = CkMoeConfig(
        int(block), Tile(int(m), int(n), int(k)), (int(wave_m), int(wave_n)), CkMoeOp(op), int(pipeline),
        swizzle is not None, int(pack or 1),
    )  # fmt: skip
    return config if config.text() == text else None


@cache
def _shipped() -> Mapping[str, AsmConfig]:
    return {kernel.config.text(): kernel.config for kernel in asm_moe_kernels().values()}
