"""What a kernel that AMD ships as a code object is good for: it is what it is, so its Config has nothing to judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from ckgen.families.common.asm_config import AsmConfig
from ckgen.families.common.shipped_kernel import ShippedKernel
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.finding import RuleFinding
from ckgen.rules.checks import not_among
from ckgen.rules.rule_set import RuleSet

_WHEEL = "the code objects of the pinned amd-aiter wheel, asm_kernels.json"


class _Signature(Protocol):
    @property
    def op(self) -> object: ...

    def canonical(self) -> str: ...


S = TypeVar("S", bound=_Signature)
K = TypeVar("K", bound=ShippedKernel)


def shipped_rules(
    signature: type[S], kernel_of: Callable[[AsmConfig], K], computed: Callable[[K, ArchSpec], tuple[str, ...]]
) -> RuleSet[S, AsmConfig]:
    """The rules of an operation's shipped kernels; `computed` are the canonical signatures of one on an arch."""
    rules: RuleSet[S, AsmConfig] = RuleSet(Backend.ASM, signature, AsmConfig)

    @rules.config_rule("asm.kernel.arch", source=_WHEEL)
    def shipped_for_the_arch(config: AsmConfig, arch: ArchSpec) -> RuleFinding | None:
        """There is a code object of the kernel for the arch."""
        return not_among(arch.name, kernel_of(config).archs, f"{config.name} is shipped for these archs only")

    @rules.rule("asm.kernel.signature", source=_WHEEL)
    def computes_the_signature(signature: S, config: AsmConfig, arch: ArchSpec) -> RuleFinding | None:
        """The kernel computes the signature: its types, layouts, scales and options, and no bias."""
        known = computed(kernel_of(config), arch)
        return not_among(signature.canonical(), known, f"{config.name} computes another {signature.op}")

    return rules
