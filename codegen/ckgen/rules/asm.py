"""What a kernel that AMD ships as a code object is good for: it is what it is, so its Config has nothing to judge."""

from __future__ import annotations

from ckgen.families.gemm.asm_config import AsmConfig
from ckgen.families.gemm.asm_kernels import asm_kernel_of
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.finding import Finding
from ckgen.rules.registry import not_among, rule

_ASM = Backend.ASM
_WHEEL = "the code objects of the pinned amd-aiter wheel, asm_kernels.json"


@rule("asm.kernel.arch", backend=_ASM, source=_WHEEL)
def shipped_for_the_arch(signature: GemmSignature, config: AsmConfig, arch: ArchSpec) -> Finding | None:
    """There is a code object of the kernel for the arch."""
    return not_among(arch.name, asm_kernel_of(config).archs, f"{config.name} is shipped for these archs only")


@rule("asm.kernel.signature", backend=_ASM, source=_WHEEL)
def computes_the_signature(signature: GemmSignature, config: AsmConfig, arch: ArchSpec) -> Finding | None:
    """The kernel computes the signature: its types, layouts and scales, and no bias."""
    return not_among(signature.canonical(), (asm_kernel_of(config).signature,), f"{config.name} computes another GEMM")
