"""What a kernel that AMD ships as a code object is good for: it is what it is, so its Config has nothing to judge."""

from __future__ import annotations

from ckgen.families.common.asm_config import AsmConfig
from ckgen.families.fmha.asm_kernels import AsmFmhaKernel, asm_fmha_kernel_of
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.gemm.asm_kernels import AsmKernel, asm_kernel_of
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.asm_kernels import AsmMoeKernel, asm_moe_kernel_of
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.finding import Finding
from ckgen.rules.registry import not_among, rule

_ASM = Backend.ASM
_WHEEL = "the code objects of the pinned amd-aiter wheel, asm_kernels.json"


@rule("asm.kernel.arch", backend=_ASM, source=_WHEEL)
def shipped_for_the_arch(signature: GemmSignature | FmhaSignature, config: AsmConfig, arch: ArchSpec) -> Finding | None:
    """There is a code object of the kernel for the arch."""
    return not_among(arch.name, _kernel_of(signature, config).archs, f"{config.name} is shipped for these archs only")


@rule("asm.kernel.signature", backend=_ASM, source=_WHEEL)
def computes_the_signature(
    signature: GemmSignature | FmhaSignature, config: AsmConfig, arch: ArchSpec
) -> Finding | None:
    """The kernel computes the signature: its types, layouts, scales and options, and no bias."""
    kernel = _kernel_of(signature, config)
    known: tuple[str, ...]
    if isinstance(kernel, AsmMoeKernel):
        known = tuple(one.canonical() for one in kernel.signatures(arch.fp8_flavour))
    elif isinstance(kernel, AsmFmhaKernel):
        known = tuple(one.canonical() for one in kernel.signatures)
    else:
        known = (kernel.signature,)
    return not_among(signature.canonical(), known, f"{config.name} computes another {signature.op}")


def _kernel_of(signature: GemmSignature | FmhaSignature, config: AsmConfig) -> AsmKernel | AsmMoeKernel | AsmFmhaKernel:
    if isinstance(signature, FmhaSignature):
        return asm_fmha_kernel_of(config)
    return asm_moe_kernel_of(config) if signature.op is Op.MOE else asm_kernel_of(config)
