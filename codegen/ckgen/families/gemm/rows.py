"""What a row of a GEMM table means: its signatures, and the Config and Backend that its kernel's name spells."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from contextlib import suppress
from typing import TypeVar

from ckgen.families.common.asm_config import ASM, AsmConfig
from ckgen.families.common.problem_finding import ProblemFinding
from ckgen.families.common.rows import Advice, Identified, RowMeanings
from ckgen.families.gemm.asm_kernels import asm_kernel_of
from ckgen.families.gemm.constraints import constraints_of
from ckgen.families.gemm.decode_dialect import USUAL_LIBRARY
from ckgen.families.gemm.grammar import describe_grammar, identify
from ckgen.families.gemm.modules import modules, unsigned_modules
from ckgen.families.gemm.mxfp8_envelope import takes_experts
from ckgen.families.gemm.problem_rules import Constraints, Limits, first_broken, limits_of, supports
from ckgen.families.gemm.signature import GemmSignature, parse_canonical, signatures_of_row
from ckgen.model.arch import ArchSpec
from ckgen.model.config import Config
from ckgen.model.errors import UsageError
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape, TunedRow

MAX_ERROR_RATIO = 0.05
"""The peer's GEMM tuners accept a kernel whose share of mismatching elements is at most this."""

Signatures = tuple[GemmSignature, ...]
R = TypeVar("R", bound=TunedRow)


class RowsOfGemms(RowMeanings[R, GemmSignature]):
    """What rows of GEMMs and of what is made of them have in common."""

    def __init__(self, archs: Mapping[str, ArchSpec]) -> None:
        super().__init__(archs)
        self._kernels: dict[tuple[str, str, str], Identified | None] = {}
        self._demands: dict[tuple[int, int], tuple[Limits, Constraints]] = {}

    def kernel(self, row: R) -> Identified | None:
        """What the kernel's name spells; None where it does not parse."""
        key = (row.module, row.library, row.kernel)
        if key not in self._kernels:
            self._kernels[key] = self.identify(row)
        return self._kernels[key]

    def identify(self, row: R) -> Identified | None:
        """The same, asked once per name."""
        raise NotImplementedError

    def constraints_of(self, signature: GemmSignature, config: Config) -> Constraints:
        """What the kernel asks of a shape."""
        raise NotImplementedError

    def sizes_key(self, row: R) -> tuple[object, ...]:
        """Batch, M, N, K."""
        shape = row.shape
        return shape.batch, shape.m, shape.n, shape.k

    def why_nothing(self, row: R) -> str | None:
        """Words of its discriminators that are not known."""
        words = row.discriminators.unknown
        return f"unknown word {words}" if words else None

    def about_types(self, row: R) -> Advice:
        """Of a row whose types make nothing that is defined, or that tells none."""
        key = row.discriminators
        hint = "mend the type columns, or name the table's module with --module"
        if key.weight_dtype is None and key.in_dtype is None:
            hint = "say which: --assume-dtype torch.int8, or add the column: ckgen tables upgrade --assume-dtype …"
        return Advice((f"{row.target} {row.module} {row.sizes}",), hint)

    def broken(self, row: R, number: int, signature: GemmSignature, kernel: Identified) -> ProblemFinding | None:
        """The first rule of the signature, or demand of the kernel, which is made once: `id` tells it."""
        key = (number, id(kernel))
        if key not in self._demands:
            self._demands[key] = limits_of(signature), self.constraints_of(signature, kernel.config)
        limits, constraints = self._demands[key]
        shape = self.judged_shape(row)
        return first_broken(limits, shape) or supports(constraints, shape, row.k_batch or 0)

    def judged_shape(self, row: R) -> Shape:
        """The sizes that rules and demands are about."""
        return row.shape


def _is_said(row: TunedRow) -> bool:
    return row.module in modules() and not row.discriminators.unknown


class GemmRows(RowsOfGemms[TunedRow]):
    """Rows of GEMM tables."""

    def __init__(self, archs: Mapping[str, ArchSpec]) -> None:
        super().__init__(archs)
        self._computed: dict[Hashable, GemmSignature | None] = {}

    @property
    def most_error_ratio(self) -> float:
        """As the peer's tuners."""
        return MAX_ERROR_RATIO

    def signature_key(self, row: TunedRow) -> Hashable:
        """Module, discriminators, the arch's fp8, and what a shipped kernel computes."""
        return row.module, row.discriminators, self.flavour(row.target), self._shipped(row)

    def meaning(self, row: TunedRow) -> Signatures:
        """A shipped kernel computes one signature: a row that names one stands for no other."""
        if not _is_said(row):
            return ()
        only = self._shipped(row)
        return (only,) if only else signatures_of_row(row.module, row.discriminators, self.flavour(row.target))

    def is_compiled(self, row: TunedRow) -> bool:
        """Whether ckgen compiles the kernels of the row's library."""
        return row.module in modules() and row.library in modules()[row.module].module.generated

    def why_nothing(self, row: TunedRow) -> str | None:
        """The same, or what is said of its module."""
        unsigned = unsigned_modules().get(row.module)
        return super().why_nothing(row) or (unsigned.why or None if unsigned else None)

    def is_generated(self, row: TunedRow) -> bool:
        """Whether ckgen compiles the kernels of the row's library, or AMD ships the row's own kernel."""
        return self.is_compiled(row) or self._shipped(row) is not None

    def is_by_default(self, row: TunedRow) -> bool:
        """A row of expert products that does not leave them to the caller."""
        return row.library == USUAL_LIBRARY

    def why_unavailable(self, row: TunedRow, signatures: Signatures) -> str | None:
        """A row may say that kernels answer where there are none."""
        if not self.is_by_default(row) or takes_experts(row.shape.k):
            return None
        return f"no kernel of experts takes K = {row.shape.k}"

    def identify(self, row: TunedRow) -> Identified | None:
        """By the grammars of the row's module and library."""
        return identify(row.module, row.library, row.kernel)

    def constraints_of(self, signature: GemmSignature, config: Config) -> Constraints:
        """What the kernel asks of a shape."""
        return constraints_of(signature, config)

    def about_name(self, row: TunedRow) -> Advice:
        """The forms that names of the module have."""
        return Advice((f"expected {describe_grammar(row.module)}",), f"see `ckgen list names --module {row.module}`")

    def operations(self, row: TunedRow, signature: GemmSignature) -> int:
        """Of all products."""
        return 2 * max(row.shape.batch, 1) * row.shape.m * row.shape.n * row.shape.k

    def _shipped(self, row: TunedRow) -> GemmSignature | None:
        """What the row's kernel computes if AMD ships it; None where not, or not for the row's arch and types."""
        if row.library != ASM or row.target is None or not _is_said(row):
            return None
        key = (row.module, row.kernel, row.discriminators, row.target.gfx)
        if key not in self._computed:
            self._computed[key] = self._computed_by(row, row.target)
        return self._computed[key]

    def _computed_by(self, row: TunedRow, target: Target) -> GemmSignature | None:
        kernel = self.kernel(row)
        if kernel is None or not isinstance(kernel.config, AsmConfig):
            return None
        shipped = asm_kernel_of(kernel.config)
        if shipped.on(target.gfx) is None:
            return None
        with suppress(UsageError):
            computed = parse_canonical(shipped.signature)
            if computed in signatures_of_row(row.module, row.discriminators, self.flavour(target)):
                return computed
        return None
