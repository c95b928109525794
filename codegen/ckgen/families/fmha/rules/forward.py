"""What ckgen's own kernel of attention of any options asks of a Config."""

from __future__ import annotations

from ckgen.families.fmha.enums import FmhaBias, FmhaDropout, FmhaEntry
from ckgen.families.fmha.forward_config import HipForwardConfig
from ckgen.families.fmha.signature import FLOAT8, FmhaSignature
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.dtype import DType
from ckgen.model.finding import RuleFinding
from ckgen.rules.checks import broken, exceeds, first, not_among
from ckgen.rules.rule_set import RuleSet

_HEADERS = "dispatcher_cpp/backends/hip/fmha_forward*.hpp"
TILE = 64
HDIMS = (64, 128, 256)
_FLOAT_BYTES, _PLACE_BYTES, _ROW_BYTES = 4, 8, 24
_LINE = TILE + 4
_DEEP = 32

_LDS_BYTES = (2 * _DEEP + TILE) * _LINE * _FLOAT_BYTES + TILE * (3 * _PLACE_BYTES + 2 * _FLOAT_BYTES)
"""Steps of products, a tile of weights, and where its rows of Q, K and V lie, with descales of K and V."""
_WAITING_BYTES = TILE * _ROW_BYTES
"""What each row sees, where registers have no room for it beside the sums."""


def lds_bytes(signature: FmhaSignature, config: HipForwardConfig) -> int:
    """Of the kernel, exactly."""
    traits = signature.traits
    asks_of_rows = traits.bias is not FmhaBias.NONE or traits.dropout is not FmhaDropout.NONE
    return _LDS_BYTES + (_WAITING_BYTES if config.hdim > 2 * TILE and asks_of_rows else 0)


RULES = RuleSet(Backend.HIP, FmhaSignature, HipForwardConfig)


@RULES.config_rule("hip.fwd.arch", source=_HEADERS)
def is_a_gpu(config: HipForwardConfig, arch: ArchSpec) -> RuleFinding | None:
    """A GPU whose workgroups have so much LDS: there are no matrix instructions."""
    if arch.kind is not ArchKind.GPU:
        return broken("the kernel is for GPUs", arch.name, "a GPU")
    return exceeds(_LDS_BYTES + _WAITING_BYTES, arch.lds_bytes, "bytes of LDS of the kernel")


@RULES.rule("hip.fwd.direction", source=_HEADERS)
def is_of_attention(signature: FmhaSignature, config: HipForwardConfig, arch: ArchSpec) -> RuleFinding | None:
    """The signature is one of attention itself, of any options."""
    entry = signature.traits.entry
    return None if entry is FmhaEntry.FORWARD else broken("the kernel computes attention", str(entry), "forward")


@RULES.rule("hip.fwd.types", source=_HEADERS)
def has_the_floats(signature: FmhaSignature, config: HipForwardConfig, arch: ArchSpec) -> RuleFinding | None:
    """8-bit floats are those of the arch, if it has some."""
    narrow = tuple(one for one in (signature.a, signature.b, signature.c) if one in FLOAT8)
    flavour = arch.fp8_flavour
    if flavour is None:
        return broken(f"{arch.name} has no 8-bit floats", str(narrow[0]), "none") if narrow else None
    own = tuple(str(one.resolve(flavour)) for one in (DType.FP8, DType.BF8))
    return first(*(not_among(str(one), own, f"8-bit floats of {arch.name}") for one in narrow))


@RULES.config_rule("hip.fwd.tile", source=_HEADERS)
def tile_is_the_kernels(config: HipForwardConfig, arch: ArchSpec) -> RuleFinding | None:
    """64 rows and keys, and heads in whole tiles of them."""
    known = tuple(f"{TILE}x{TILE}x{hdim}" for hdim in HDIMS)
    return not_among(f"{config.m0}x{config.n0}x{config.hdim}", known, "rows, keys and largest head dim")
