"""What attention kernels on a CPU ask of a Config."""

from __future__ import annotations

from ckgen.families.fmha.enums import FmhaEntry
from ckgen.families.fmha.host_config import HostFmhaConfig
from ckgen.families.fmha.signature import WIDE, FmhaSignature
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.finding import RuleFinding
from ckgen.rules.checks import exceeds, first, not_among
from ckgen.rules.rule_set import RuleSet

_MAX_HOST_TILE = 1024
_MAX_HOST_KEYS = 256
_MAX_BACKWARD_ROWS = 256

RULES = RuleSet(Backend.HOST, FmhaSignature, HostFmhaConfig)


@RULES.config_rule("host.fmha.tile", source="the host kernel")
def host_tile_is_small(config: HostFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """A tile has at most 1,024 rows of Q and 256 keys."""
    return first(
        exceeds(config.m0, _MAX_HOST_TILE, "rows of Q in a tile"),
        exceeds(config.n0, _MAX_HOST_KEYS, "keys in a tile"),
    )


@RULES.rule("host.fmha.backward-tile", source="the host kernel")
def backward_tile_is_small(signature: FmhaSignature, config: HostFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """bwd: a tile has at most 256 rows of Q too."""
    if signature.traits.entry is not FmhaEntry.BACKWARD:
        return None
    return exceeds(config.m0, _MAX_BACKWARD_ROWS, "rows of Q in a tile of backward")


@RULES.rule("host.fmha.append", source="the host kernel")
def host_appends(signature: FmhaSignature, config: HostFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """append: rows and O of one wide type; 8-bit caches with one descale, or with those of pages."""
    if signature.traits.entry is not FmhaEntry.APPEND:
        return None
    return first(
        not_among(str(signature.a), tuple(map(str, sorted(WIDE, key=str))), "append takes rows of wide types"),
        not_among(str(signature.traits.quant), ("none", "pertensor", "kvblockscale"), "append has no such descales"),
    )
