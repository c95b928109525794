"""Why an attention signature has no kernel on an arch: the rule that all kernels break, or that no set asks for any."""

from __future__ import annotations

from ckgen.families.fmha.append_config import HipAppendConfig
from ckgen.families.fmha.append_problem import appends, goes_back
from ckgen.families.fmha.backward_config import CkTileBackwardConfig, HipBackwardConfig
from ckgen.families.fmha.forward_config import HipForwardConfig
from ckgen.families.fmha.grammar import AnyFmhaConfig
from ckgen.families.fmha.host_config import HostFmhaConfig
from ckgen.families.fmha.measured import FmhaUnit
from ckgen.families.fmha.rules import JUDGES
from ckgen.families.fmha.rules.append import ROWS as ROWS_OF_APPEND
from ckgen.families.fmha.rules.gradients import HDIMS, TILE
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.fmha.tree import append_configs, backward_configs
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.finding import RuleFinding
from ckgen.rules.rule_set import first_judgement

_ANY_BACKWARD = CkTileBackwardConfig(0, 32, 128, 32, 64, 1)
_ANY_HOST = HostFmhaConfig(16, 64)


def why_absent(unit: FmhaUnit | None, signature: FmhaSignature, arch: ArchSpec) -> str | None:
    """Why nothing of a signature's unit answers on the arch, whatever the sizes; None where some kernel does."""
    if unit is not None and unit.default_indices(arch.name):
        return None
    refusal = refusal_of_all(signature, arch)
    return refusal or "no kernel set that is read asks for it: see `ckgen list instances --ops fmha` and --kernel-set"


def refusal_of_all(signature: FmhaSignature, arch: ArchSpec) -> str | None:
    """The first finding, by rule, that every kernel there is has; None where some kernel is legal."""
    configs: tuple[AnyFmhaConfig, ...] = (_ANY_HOST,)
    if arch.kind is ArchKind.GPU and appends(signature.traits):
        configs = (HipAppendConfig(ROWS_OF_APPEND), *append_configs(signature, arch.name))
    elif arch.kind is ArchKind.GPU and goes_back(signature.traits):
        ours = HipBackwardConfig(TILE, TILE, HDIMS[-1])
        configs = (ours, *(backward_configs(signature, arch.name) or (_ANY_BACKWARD,)))
    elif arch.kind is ArchKind.GPU:
        configs = (HipForwardConfig(TILE, TILE, HDIMS[-1]),)  # it takes what any other one takes
    findings = [_judged(signature, config, arch) for config in configs]
    shared = set.intersection(*({finding.rule for finding in found} for found in findings))
    return next((str(finding) for finding in findings[0] if finding.rule in shared), None)


def _judged(signature: FmhaSignature, config: AnyFmhaConfig, arch: ArchSpec) -> tuple[RuleFinding, ...]:
    return first_judgement(JUDGES, signature, config, config.backend, arch)
