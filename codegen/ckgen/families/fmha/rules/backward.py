"""What ck_tile's kernels of attention's gradients ask of a Config."""

from __future__ import annotations

from ckgen.families.fmha.backward_config import CkTileBackwardConfig
from ckgen.families.fmha.enums import FmhaDropout, FmhaEntry
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.fmha.tree import backward_configs, why_no_backward
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.finding import RuleFinding
from ckgen.rules.checks import broken, not_among
from ckgen.rules.rule_set import RuleSet

_FACTORY = "the factories of the pinned CK tree, fmha_bwd.py"
_BRIDGE = "ckgen's bridge to ck_tile, backends/ck_tile/fmha_backward.hpp"
EXECUTED = ("cdna2", "cdna3", "cdna4")
"""The families of archs on which the kernels were executed."""

RULES = RuleSet(Backend.CK_TILE, FmhaSignature, CkTileBackwardConfig)


@RULES.config_rule("ck_tile.bwd.arch", source=_FACTORY)
def arch_has_tiles(config: CkTileBackwardConfig, arch: ArchSpec) -> RuleFinding | None:
    """The pinned tree has the kernels for the arch, and they were executed there."""
    reason = why_no_backward(arch.name)
    if reason is not None:
        return broken(reason, arch.name, "an arch with tiles")
    return not_among(arch.family, EXECUTED, "the kernels were executed on archs of these families alone")


@RULES.rule("ck_tile.bwd.direction", source=_FACTORY)
def goes_back(signature: FmhaSignature, config: CkTileBackwardConfig, arch: ArchSpec) -> RuleFinding | None:
    """The signature is one of gradients."""
    return not_among(str(signature.traits.entry), (str(FmhaEntry.BACKWARD),), "the kernels compute gradients")


@RULES.rule("ck_tile.bwd.features", source=f"{_FACTORY}; {_BRIDGE}")
def features_exist(signature: FmhaSignature, config: CkTileBackwardConfig, arch: ArchSpec) -> RuleFinding | None:
    """Masks, slopes, Philox and a bias with its gradient: the tree has no softcap, no sink and reads no given bytes."""
    traits = signature.traits
    absent = {
        "softcap": traits.softcap,
        "sink": traits.sink,
        "randval": traits.dropout is FmhaDropout.RANDVAL,
    }
    word = next((word for word, asked in absent.items() if asked), None)
    return broken("ck_tile's gradients do not have it here: host kernels do", word, "none") if word else None


@RULES.rule("ck_tile.bwd.tile", source=_FACTORY)
def tile_is_the_factorys(signature: FmhaSignature, config: CkTileBackwardConfig, arch: ArchSpec) -> RuleFinding | None:
    """The tile and the pads are the factory's for the type."""
    known = tuple(one.text() for one in backward_configs(signature, arch.name))
    return not_among(config.text(), known, "the factory has these kernels")
