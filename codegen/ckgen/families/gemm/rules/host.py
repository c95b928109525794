"""What CPU kernels ask of a Config: a register tile that the arch's level has; blocks may be of any size."""

from __future__ import annotations

from ckgen.families.gemm.config import HostConfig
from ckgen.families.gemm.host_panels import Panels, panels_of
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.dtype import DType
from ckgen.model.finding import RuleFinding
from ckgen.rules.checks import broken, not_among
from ckgen.rules.rule_set import RuleSet

_SUMS = tuple(map(str, (DType.FP32, DType.INT32)))

RULES = RuleSet(Backend.HOST, GemmSignature, HostConfig)


@RULES.rule("host.sums", source="dispatcher_cpp/backends/host/gemm/check.cpp, check_traits")
def sums_are_of_32_bits(signature: GemmSignature, config: HostConfig, arch: ArchSpec) -> RuleFinding | None:
    """Products are added in fp32, those of int8 in int32."""
    return not_among(str(signature.acc), _SUMS, "CPU kernels add products in")


@RULES.rule("host.int32", source="dispatcher_cpp/backends/host/gemm/check.cpp, check_traits")
def int32_is_the_bare_sum(signature: GemmSignature, config: HostConfig, arch: ArchSpec) -> RuleFinding | None:
    """An int32 C is the bare sum."""
    if signature.c is not DType.INT32 or not signature.bias:
        return None
    return broken("an int32 C takes no bias", "bias", "none")


@RULES.rule(
    "host.register_tile", source="arch_specs, cpu.register_tiles; backends/host/gemm/gemm.cpp, gemm_host_supports"
)
def register_tile_is_of_the_level(signature: GemmSignature, config: HostConfig, arch: ArchSpec) -> RuleFinding | None:
    """The arch's level has a micro-kernel of the register tile for what the panels hold."""
    if arch.cpu is None:
        return broken(f"{arch.name} is no CPU", "gpu", "cpu")
    tiles = arch.cpu.register_tiles
    panels = panels_of(signature, has_dots=bool(tiles[str(Panels.BF16)]))
    return not_among(f"{config.mr}x{config.nr}", tiles[str(panels)], f"register tiles of {panels} on {arch.name} are")
