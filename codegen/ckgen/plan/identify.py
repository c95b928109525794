"""From a row to what it means: its signatures, and the Config and Backend that its kernel's name spells."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from ckgen.families.common.asm_config import ASM, AsmConfig
from ckgen.families.gemm.asm_kernels import asm_kernel_of
from ckgen.families.gemm.grammar import Identified, identify
from ckgen.families.gemm.signature import GemmSignature, parse_canonical, signatures_of_row
from ckgen.families.moe.tables import config_of, is_shipped, moe_signature_of, why_no_signature
from ckgen.families.tables import describe_names
from ckgen.model.arch import ArchSpec
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.errors import UsageError
from ckgen.model.module import Module
from ckgen.model.moe_row import MoeRow
from ckgen.model.target import Target
from ckgen.model.tuned_row import TunedRow
from ckgen.tables.read import quoted

_PRINTABLE = re.compile(r"[ -!#-\[\]-~]*")

Signatures = tuple[GemmSignature, ...]
Part = tuple[int, Signatures]
"""Signatures that no row of these tables tells apart, and their number."""


@dataclass(slots=True)
class Identifier:
    """Answers per row, each distinct question once. Not thread-safe."""

    modules: Mapping[str, Module]
    archs: Mapping[str, ArchSpec]
    _signatures: dict[Hashable, tuple[int, Signatures]] = field(default_factory=dict)
    _pairs: dict[Hashable, bool] = field(default_factory=dict)
    _kernels: dict[tuple[str, str, str], Identified | None] = field(default_factory=dict)
    _computed: dict[Hashable, GemmSignature | None] = field(default_factory=dict)

    def signatures(self, row: TunedRow) -> tuple[int, Signatures]:
        """What the row stands for, and a small number that is equal exactly for equal answers.

        A shipped kernel computes one signature: a row that names one stands for no other. An MoE row may say what no
        signature does: then there is none.
        """
        flavour = self._flavour(row.target)
        only = self._shipped(row)
        unsaid = isinstance(row, MoeRow) and why_no_signature(row) is not None
        key = (row.module, row.discriminators, flavour, only, unsaid)
        known = self._signatures.get(key)
        if known is None:
            found = () if unsaid else (only,) if only else self._meaning(row, flavour)
            number = next((n for n, same in self._signatures.values() if same == found), len(self._signatures))
            known = self._signatures[key] = (number, found)
        return known

    def parts(self) -> Mapping[int, tuple[Part, ...]]:
        """By number of `signatures`, what it consists of: a row of bf16 and fp16 and one of bf16 alone share a part."""
        holders: dict[GemmSignature, list[int]] = {}
        for number, signatures in dict(self._signatures.values()).items():
            for signature in signatures:
                holders.setdefault(signature, []).append(number)
        groups: dict[tuple[int, ...], list[GemmSignature]] = {}
        for signature, numbers in holders.items():
            groups.setdefault(tuple(numbers), []).append(signature)
        parts: dict[int, tuple[Part, ...]] = {}
        for index, (sharers, shared) in enumerate(groups.items()):
            for number in dict.fromkeys(sharers):
                parts[number] = (*parts.get(number, ()), (index, tuple(shared)))
        return parts

    def is_compiled(self, row: TunedRow) -> bool:
        """Whether ckgen compiles the kernels of the row's library."""
        generated = self.modules[row.module].generated
        if isinstance(row, MoeRow):
            return all(stage.library in generated for stage in row.stages)
        return row.library in generated

    def is_generated(self, row: TunedRow) -> bool:
        """Whether ckgen compiles the kernels of the row's library, or AMD ships the row's own kernel."""
        if isinstance(row, MoeRow):
            return self._is_pair(row)
        return self.is_compiled(row) or self._shipped(row) is not None

    def kernel(self, row: TunedRow) -> Identified | None:
        """What the kernel's name spells; None where it does not parse."""
        key = (row.module, row.library, row.kernel)
        if key not in self._kernels:
            self._kernels[key] = _pair(row) if isinstance(row, MoeRow) else identify(*key)
        return self._kernels[key]

    def _is_pair(self, row: MoeRow) -> bool:
        """Whether each of the row's kernels is compiled, or shipped for its arch and of its part."""
        arch = self.archs.get(row.target.gfx) if row.target is not None else None
        generated = self.modules[row.module].generated
        key = (row.module, row.library, row.kernel, row.discriminators, row.top_k is None, arch and arch.name)
        if key not in self._pairs:
            with_shipped = (
                stage.library in generated or (arch is not None and is_shipped(row, number, arch))
                for number, stage in enumerate(row.stages)
            )
            self._pairs[key] = all(with_shipped)
        return self._pairs[key]

    def _meaning(self, row: TunedRow, flavour: Fp8Flavour | None) -> Signatures:
        if isinstance(row, MoeRow):
            return (moe_signature_of(row, flavour),)
        return signatures_of_row(row.module, row.discriminators, flavour)

    def _shipped(self, row: TunedRow) -> GemmSignature | None:
        """What a GEMM row's kernel computes if AMD ships it; None where not, or not for the row's arch and types."""
        if row.library != ASM or row.target is None or isinstance(row, MoeRow):
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
            if computed in signatures_of_row(row.module, row.discriminators, self._flavour(target)):
                return computed
        return None

    def _flavour(self, target: Target | None) -> Fp8Flavour | None:
        arch = self.archs.get(target.gfx) if target is not None else None
        return arch.fp8_flavour if arch is not None else None


def _pair(row: MoeRow) -> Identified | None:
    config = config_of(row.stages)
    return Identified(config, config.backend) if config is not None else None


def is_printable(row: TunedRow) -> bool:
    """Whether library and kernel can stand in a C++ string as they are: printable ASCII, no quote, no backslash."""
    return is_plain(row.kernel) and is_plain(row.library)


def is_plain(text: str) -> bool:
    """Whether a name can stand in a C++ string as it is."""
    return _PRINTABLE.fullmatch(text) is not None


def unprintable(row: TunedRow, place: Location) -> Diagnostic:
    """A row whose names could not be emitted unchanged."""
    return Diagnostic(
        code="T016",
        message=f"kernel or library name is not plain text: {quoted(row.kernel)} of {quoted(row.library)}",
        location=place,
        detail=("expected printable ASCII without quotes and backslashes",),
        hint="mend the name; ckgen never alters one",
    )


def unparsable(row: TunedRow, place: Location) -> Diagnostic:
    """A ck or ck_tile row whose kernel name fits no grammar of its module."""
    return Diagnostic(
        code="T012",
        message=f"kernel name does not parse: {quoted(row.kernel)}",
        location=place,
        detail=(f"expected {describe_names(row.module)}",),
        hint=f"see `ckgen list names --module {row.module}`",
    )


def meaningless(row: TunedRow, place: Location, error: UsageError) -> Diagnostic:
    """A row whose types make nothing that is defined."""
    return Diagnostic(
        code="T015",
        message=str(error),
        location=place,
        detail=(f"{row.target} {row.module} {row.sizes}",),
        hint="mend the type columns, or name the table's module with --module",
    )
