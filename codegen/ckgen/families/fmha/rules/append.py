"""What kernels that append to a cache ask of a Config: ck_tile's, and ckgen's own."""

from __future__ import annotations

from ckgen.families.fmha.append_config import CkTileAppendConfig, HipAppendConfig
from ckgen.families.fmha.append_problem import appends
from ckgen.families.fmha.enums import FmhaKv, FmhaKvLayout, FmhaRope
from ckgen.families.fmha.signature import WIDE, FmhaSignature
from ckgen.families.fmha.tree import append_tiles, why_no_tiles
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.dtype import DType
from ckgen.model.finding import RuleFinding
from ckgen.rules.checks import broken, first, not_among
from ckgen.rules.rule_set import RuleSet

_TILE, _HIP = Backend.CK_TILE, Backend.HIP
_FACTORY = "the factories of the pinned CK tree, fmha_fwd_appendkv.py"
_HEADERS = "dispatcher_cpp/backends/hip/fmha_append*.hpp"
EXECUTED = ("cdna3", "cdna4")
"""The families of archs on which the kernels were executed."""
ROWS = 8

OF_CK_TILE = RuleSet(Backend.CK_TILE, FmhaSignature, CkTileAppendConfig)
OURS = RuleSet(Backend.HIP, FmhaSignature, HipAppendConfig)


@OF_CK_TILE.config_rule("ck_tile.append.arch", source=_FACTORY)
def arch_has_tiles(config: CkTileAppendConfig, arch: ArchSpec) -> RuleFinding | None:
    """The arch is one of waves of 64 that the emulator executes: the class is held against the definition there."""
    reason = why_no_tiles(arch.name)
    if reason is not None:
        return broken(reason, arch.name, "an arch with tiles")
    return not_among(arch.family, EXECUTED, "the kernel was executed on archs of these families alone")


@OF_CK_TILE.rule("ck_tile.append.types", source=_FACTORY)
def types_have_tiles(signature: FmhaSignature, config: CkTileAppendConfig, arch: ArchSpec) -> RuleFinding | None:
    """All is bf16 or fp16: of 8 bits the kernel copies codes, whose descales it does not have."""
    return first(
        not_among(str(signature.a), (str(DType.BF16), str(DType.FP16)), "type of new rows"),
        not_among(str(signature.b), (str(signature.a),), "the cache has the type of the rows"),
    )


@OF_CK_TILE.rule("ck_tile.append.features", source="ck_tile's FmhaFwdAppendKVKernel")
def features_exist(signature: FmhaSignature, config: CkTileAppendConfig, arch: ArchSpec) -> RuleFinding | None:
    """Batches, contiguous or by block tables, V by rows."""
    traits = signature.traits
    absent = {
        "forward": not appends(traits),
        "varlen": traits.varlen,
        "vcolumn": traits.v_column,
        "pagelist": traits.kv is FmhaKv.PAGE_LIST,
        "vectorized": traits.kv_layout is not FmhaKvLayout.LINEAR,
    }
    word = next((word for word, asked in absent.items() if asked), None)
    return broken("ck_tile's kernel that appends does not have it", word, "none") if word else None


@OF_CK_TILE.rule("ck_tile.append.tile", source=_FACTORY)
def tile_is_the_factorys(signature: FmhaSignature, config: CkTileAppendConfig, arch: ArchSpec) -> RuleFinding | None:
    """A tile of the factory; with rope the head dim of Q is padded, with padded rows all is."""
    tile = f"{config.m0}x{config.n0}x{config.hdim}"
    pads = f"{int(config.pad_q)}{int(config.pad_hdim_q)}{int(config.pad_hdim_v)}"
    return first(
        not_among(tile, append_tiles(), "the factory has these tiles"),
        not_among(pads, ("000", "111") if signature.traits.rope is FmhaRope.NONE else ("010", "111"), "its pads"),
    )


@OURS.config_rule("hip.append.arch", source=_HEADERS)
def ours_is_for_gpus(config: HipAppendConfig, arch: ArchSpec) -> RuleFinding | None:
    """A GPU: the kernel has no instruction of an arch's own."""
    return None if arch.kind is ArchKind.GPU else broken("the kernel is for GPUs", arch.name, "a GPU")


@OURS.rule("hip.append.types", source=_HEADERS)
def ours_takes_the_types(signature: FmhaSignature, config: HipAppendConfig, arch: ArchSpec) -> RuleFinding | None:
    """Rows of wide types; 8-bit caches, where the arch has such floats, with one descale, or with those of pages."""
    if signature.b is DType.FP8:
        return broken(f"{arch.name} has no 8-bit floats", str(signature.b), "fnuz ocp")
    return first(
        not_among(str(signature.a), tuple(map(str, sorted(WIDE, key=str))), "append takes rows of wide types"),
        not_among(str(signature.traits.quant), ("none", "pertensor", "kvblockscale"), "append has no such descales"),
    )


@OURS.rule("hip.append.tile", source=_HEADERS)
def ours_has_its_rows(signature: FmhaSignature, config: HipAppendConfig, arch: ArchSpec) -> RuleFinding | None:
    """8 rows per workgroup, of a signature that appends."""
    return first(
        not_among(str(signature.traits.entry), ("append",), "the kernel appends"),
        not_among(str(config.rows), (str(ROWS),), "rows per workgroup"),
    )
