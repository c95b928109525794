"""What is asked of a Config of an MoE layer or a part of one, beside what GEMMs ask."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.families.common.shipped_rules import shipped_rules
from ckgen.families.gemm.enums import MoePart, Op
from ckgen.families.gemm.rules import JUDGES as OF_GEMMS
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.asm_kernels import AsmMoeKernel, asm_moe_kernel_of
from ckgen.families.moe.config import MoePairConfig
from ckgen.families.moe.parts import part_signatures
from ckgen.families.moe.rules import ck
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.finding import RuleFinding
from ckgen.rules.rule_set import Judge, Rule, first_judgement


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Two kernels that compute a layer: each is judged as the part that it computes."""

    rules: tuple[Rule, ...] = ()

    def judge(
        self, signature: object, config: object, backend: Backend, arch: ArchSpec
    ) -> tuple[RuleFinding, ...] | None:
        """See Judge; the findings of gate_up before those of down."""
        if not isinstance(config, MoePairConfig) or not isinstance(signature, GemmSignature):
            return None
        if signature.op is not Op.MOE or signature.moe.part is not MoePart.LAYER:
            return (RuleFinding("moe.pair", "two kernels compute a whole layer", signature.canonical(), "a layer"),)
        parts = zip(part_signatures(signature), (config.gate_up, config.down), strict=True)
        return tuple(
            finding
            for part, kernel in parts
            for finding in first_judgement((*JUDGES, *OF_GEMMS), part, kernel, kernel.backend, arch)
        )


def _computed(kernel: AsmMoeKernel, arch: ArchSpec) -> tuple[str, ...]:
    return tuple(one.canonical() for one in kernel.signatures(arch.fp8_flavour))


_SHIPPED = shipped_rules(GemmSignature, asm_moe_kernel_of, _computed)

JUDGES: tuple[Judge, ...] = (ck.RULES, _SHIPPED, _Pairs())
