"""What a row of a table of ckgen's own means, of GEMMs and of what is made of them: its kernel's name tells it all."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any

from ckgen.families.common.providers import Provider, provided_kernel
from ckgen.families.common.rows import Advice, Identified
from ckgen.families.common.signature import of_flavour
from ckgen.families.common.told_row import ToldRow
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.problem_rules import Constraints
from ckgen.families.gemm.rows import RowsOfGemms, Signatures
from ckgen.families.gemm.signature import GemmSignature, module_of, parse_canonical
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.config import Config
from ckgen.model.instance_row import InstanceRow
from ckgen.model.tuned_row import Discriminators, Shape
from ckgen.tables.read import quoted

Read = Callable[[str], tuple[GemmSignature, Config] | None]
"""An instance's name as its signature and Config."""
Demands = Callable[[GemmSignature, Config], Constraints]

_NOTHING_TOLD = Discriminators()


def is_instance_row(row: object) -> bool:
    """Whether the row's kernel is an instance's name."""
    return isinstance(row, InstanceRow)


def told_fields(told: ToldRow, signature: GemmSignature, shape: Shape) -> dict[str, Any]:
    """The fields of an InstanceRow. The module is that of the peer's tables that speak of the signature, if any do."""
    provided = provided_kernel(told.kernel)
    library, kernel = (str(provided.provider), provided.description) if provided is not None else ("", told.kernel)
    return {
        "location": told.location, "layer": told.layer, "module": module_of(signature) or "", "target": told.target,
        "cu_num": told.target.cu_num, "shape": shape, "discriminators": _NOTHING_TOLD, "library": library,
        "kernel": kernel, "k_batch": told.splits or 1, "us": told.us, "error_ratio": None,
        "signature": told.signature,
    }  # fmt: skip


class InstanceRows(RowsOfGemms[InstanceRow]):
    """Rows whose kernels' names `read` reads, or of providers; the loader has refused those whose names are neither."""

    def __init__(self, archs: Mapping[str, ArchSpec], read: Read, demands: Demands) -> None:
        super().__init__(archs)
        self._read = read
        self._asked = demands
        self._named: dict[str, tuple[GemmSignature, Config] | None] = {}

    def signature_key(self, row: InstanceRow) -> Hashable:
        """Its own cell, and whether a provider's kernels run on the target."""
        return row.signature, self._is_elsewhere(row)

    def meaning(self, row: InstanceRow) -> Signatures:
        """The kernel's signature alone; of a provider's that of the row."""
        if row.library:
            return () if self._is_elsewhere(row) else (parse_canonical(row.signature),)
        named = self._of_name(row.kernel)
        return (named[0],) if named is not None else ()

    def why_nothing(self, row: InstanceRow) -> str | None:
        """A provider of another vendor than the target's."""
        if not self._is_elsewhere(row):
            return super().why_nothing(row)
        return f"{Provider(row.library).title} has no kernels for {row.target.gfx if row.target is not None else '-'}"

    def sizes_key(self, row: InstanceRow) -> tuple[object, ...]:
        """A provider's kernel stands beside that of a row which can run: each answers where the other is not there."""
        return (*super().sizes_key(row), *([row.library] if row.library else []))

    def is_generated(self, row: InstanceRow) -> bool:
        """All whose names are those of instances."""
        return not row.library

    def table_kernel(self, row: InstanceRow) -> str:
        """None: the name is an instance's."""
        return ""

    def identify(self, row: InstanceRow) -> Identified | None:
        """What the instance's name spells."""
        named = self._of_name(row.kernel)
        return Identified(named[1], named[1].backend) if named is not None else None

    def constraints_of(self, signature: GemmSignature, config: Config) -> Constraints:
        """What the kernel asks of a shape."""
        return self._asked(signature, config)

    def judged_shape(self, row: InstanceRow) -> Shape:
        """Of experts the key's batch is the routing."""
        return replace(row.shape, batch=0) if row.op == str(Op.MOE) else row.shape

    def about_name(self, row: InstanceRow) -> Advice:
        """The name, and where names stand."""
        return Advice((f"kernelName {quoted(row.kernel)}",), f"see `ckgen list instances --ops {row.op}` for names")

    def operations(self, row: InstanceRow, signature: GemmSignature) -> int | None:
        """Of all products of a GEMM; what groups and experts share out is not told."""
        shape = row.shape
        return 2 * max(shape.batch, 1) * shape.m * shape.n * shape.k if signature.op is Op.GEMM else None

    def why_unavailable(self, row: InstanceRow, signatures: Signatures) -> str | None:
        """A kernel of a CPU on a GPU or the other way round, or of another flavour of fp8."""
        arch, kernel = self.archs[row.target.gfx] if row.target is not None else None, self.kernel(row)
        if arch is None or kernel is None:
            return None
        if (kernel.backend is Backend.HOST) != (arch.kind is ArchKind.CPU):
            return f"a kernel of backend {kernel.backend} does not run on {arch.name}"
        if arch.kind is ArchKind.GPU and not all(of_flavour(one, arch.fp8_flavour) for one in signatures):
            return f"{arch.name} has another 8-bit float than {signatures[0]}"
        return None

    def _is_elsewhere(self, row: InstanceRow) -> bool:
        arch = self.archs.get(row.target.gfx) if row.library and row.target is not None else None
        return arch is not None and arch.vendor != Provider(row.library).vendor

    def _of_name(self, name: str) -> tuple[GemmSignature, Config] | None:
        if name not in self._named:
            self._named[name] = self._read(name)
        return self._named[name]
