"""How many steps of K the main loop of a GEMM kernel holds in LDS at once."""

from __future__ import annotations

from ckgen.families.gemm.config import CkBlockScaleConfig, CkConfig, CkPreshuffledConfig, CkRowwiseConfig, CkTileConfig
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import ArchSpec
from ckgen.model.config import Config

_CK = (CkRowwiseConfig, CkBlockScaleConfig, CkPreshuffledConfig)


def lds_buffers(signature: GemmSignature, config: Config, arch: ArchSpec) -> int:
    """Classic CK's preshuffled kernels double-buffer A from v2 on; of others the arch's pipelines tell, else one."""
    if isinstance(config, CkTileConfig):
        return _of(arch, config, config.pipeline.value)
    if not isinstance(config, _CK):
        return 1
    if signature.preshuffle_b:
        return 1 if config.pipeline == 1 else 2
    return _of(arch, config, f"v{config.pipeline}")


def _of(arch: ArchSpec, config: CkConfig | CkTileConfig, name: str) -> int:
    pipeline = arch.pipeline(config.backend, name)
    return pipeline.buffers if pipeline else 1
