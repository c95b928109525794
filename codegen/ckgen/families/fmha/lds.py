"""LDS of ck_tile's attention kernels."""

from __future__ import annotations

from ckgen.families.fmha.config import CkTileFmhaConfig, FmhaPipeline
from ckgen.families.fmha.enums import FmhaDropout
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.arch import ArchSpec

ASYNC_BUFFERS = 3
_LOAD_BYTES = 16
_DWORD = 4


def lds_bytes(signature: FmhaSignature, config: CkTileFmhaConfig, arch: ArchSpec) -> int:
    """Bytes that a workgroup takes, padding between rows and banks included."""
    size = max(signature.a.bits // 8, 1)
    if config.pipeline is FmhaPipeline.QR_ASYNC_TRLOAD:
        return max(config.m0 * config.k0_max, 2 * config.n0 * (config.k0_max + config.n1)) * size
    pack = _LOAD_BYTES // size
    row = arch.lds_banks * _DWORD // size
    of_v = (config.k1 // pack) * (config.n1 * pack // row) * (row + pack)
    drops = signature.traits.dropout is not FmhaDropout.NONE
    part = config.warp_tile
    of_dropout = (config.warps[0] * part.m + 1) * part.n if drops else 0
    if config.pipeline.passes_registers:
        of_k = (config.k0 // pack) * (config.n0 + 1) * pack
        return max(max(of_k, of_v) * size, of_dropout)
    vector, waves = async_vector(signature, arch), max(config.warps[0], 1)
    groups = max(arch.wave_size * vector // max(config.k1, 1), 1)
    of_k = config.n0 // (groups * waves) * waves * (arch.wave_size * vector + pack)
    return ASYNC_BUFFERS * max(of_k, of_v) * size + of_dropout


def async_vector(signature: FmhaSignature, arch: ArchSpec) -> int:
    """Elements that a lane copies to LDS at once; ck_tile takes a dword where an arch has no such copies."""
    return max(arch.lds_copy_bytes, _DWORD) * 8 // signature.a.bits
