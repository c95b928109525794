"""What ckgen's own kernels of attention's gradients ask of a Config."""

from __future__ import annotations

from ckgen.families.fmha.append_problem import goes_back
from ckgen.families.fmha.backward_config import HipBackwardConfig
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.finding import RuleFinding
from ckgen.rules.checks import broken, exceeds, not_among
from ckgen.rules.rule_set import RuleSet

_HEADERS = "dispatcher_cpp/backends/hip/fmha_gradient*.hpp"
TILE = 64
HDIMS = (64, 128, 256)
LANES = 256
_FLOAT_BYTES = 4
_LINE = TILE + 4
_DEEP = 32
_NARROW_WAVE, _MOST_OF_NARROW = 32, 128

RULES = RuleSet(Backend.HIP, FmhaSignature, HipBackwardConfig)


def lds_bytes(operands: int) -> int:
    """Bytes of a kernel that keeps so many tiles of scores beside the steps of its products."""
    return (2 * _DEEP + operands * TILE) * _LINE * _FLOAT_BYTES


@RULES.config_rule("hip.bwd.arch", source=_HEADERS)
def is_a_gpu(config: HipBackwardConfig, arch: ArchSpec) -> RuleFinding | None:
    """A GPU whose workgroups have so much LDS: there are no matrix instructions."""
    if arch.kind is not ArchKind.GPU:
        return broken("the kernels are for GPUs", arch.name, "a GPU")
    return exceeds(lds_bytes(2), arch.lds_bytes, "bytes of LDS of the kernels")


@RULES.config_rule("hip.bwd.registers", source=_HEADERS)
def registers_hold_the_sums(config: HipBackwardConfig, arch: ArchSpec) -> RuleFinding | None:
    """Of heads of 256 a work-item keeps 128 sums of dK and dV, which waves of 32 have no room for beside the rest."""
    if arch.wave_size != _NARROW_WAVE:
        return None
    return exceeds(config.hdim, _MOST_OF_NARROW, f"largest head dim on {arch.name}, whose waves have 32 lanes")


@RULES.rule("hip.bwd.direction", source=_HEADERS)
def is_of_gradients(signature: FmhaSignature, config: HipBackwardConfig, arch: ArchSpec) -> RuleFinding | None:
    """The signature is one of gradients, of any options."""
    return None if goes_back(signature.traits) else broken("the kernels compute gradients", "forward", "bwd")


@RULES.config_rule("hip.bwd.tile", source=_HEADERS)
def tile_is_the_kernels(config: HipBackwardConfig, arch: ArchSpec) -> RuleFinding | None:
    """64 rows and keys, and heads in whole tiles of them."""
    known = tuple(f"{TILE}x{TILE}x{hdim}" for hdim in HDIMS)
    return not_among(f"{config.m0}x{config.n0}x{config.hdim}", known, "rows, keys and largest head dim")
