"""What a row of an MoE table means: its layer, and the pair or whole kernel that its names spell."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace

from ckgen.families.common.rows import Advice, Identified
from ckgen.families.gemm.problem_rules import Constraints
from ckgen.families.gemm.rows import RowsOfGemms, Signatures
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.constraints import constraints_of
from ckgen.families.moe.grammar import hints
from ckgen.families.moe.module import moe_module
from ckgen.families.moe.tables import (
    config_of,
    is_shipped,
    moe_signature_of,
    operations_of,
    why_no_signature,
    why_unavailable,
)
from ckgen.model.arch import ArchSpec
from ckgen.model.config import Config
from ckgen.model.moe_row import MoeRow
from ckgen.model.tuned_row import Shape


class MoeRows(RowsOfGemms[MoeRow]):
    """Rows of MoE tables."""

    def __init__(self, archs: Mapping[str, ArchSpec]) -> None:
        super().__init__(archs)
        self._pairs: dict[Hashable, bool] = {}

    @property
    def most_error_ratio(self) -> float:
        """As module.json says."""
        return moe_module().max_error_ratio

    def signature_key(self, row: MoeRow) -> Hashable:
        """Discriminators, the arch's fp8, and whether a signature says it."""
        return row.module, row.discriminators, self.flavour(row.target), why_no_signature(row) is not None

    def meaning(self, row: MoeRow) -> Signatures:
        """A row may say what no signature does: then there is none."""
        return () if why_no_signature(row) is not None else (moe_signature_of(row, self.flavour(row.target)),)

    def is_generated(self, row: MoeRow) -> bool:
        """Whether each of the row's kernels is compiled, or shipped for its arch and of its part."""
        arch = self.archs.get(row.target.gfx) if row.target is not None else None
        generated = moe_module().module.generated
        key = (row.library, row.kernel, row.discriminators, row.top_k is None, arch and arch.name)
        if key not in self._pairs:
            self._pairs[key] = all(
                stage.library in generated or (arch is not None and is_shipped(row, number, arch))
                for number, stage in enumerate(row.stages)
            )
        return self._pairs[key]

    def identify(self, row: MoeRow) -> Identified | None:
        """The pair, or the kernel of a whole layer."""
        config = config_of(row.stages)
        return Identified(config, config.backend) if config is not None else None

    def constraints_of(self, signature: GemmSignature, config: Config) -> Constraints:
        """What the kernels ask of a layer's sizes."""
        return constraints_of(signature, config)

    def about_name(self, row: MoeRow) -> Advice:
        """The forms of the kernels' names."""
        return Advice((f"expected {' or '.join(hints(full=False))}",), f"see `ckgen list names --module {row.module}`")

    def operations(self, row: MoeRow, signature: GemmSignature) -> int:
        """Of a layer's products over every token's experts."""
        return operations_of(row)

    def why_unavailable(self, row: MoeRow, signatures: Signatures) -> str | None:
        """Why kernels that ckgen builds do not make the row's layer, as far as their names tell."""
        return why_unavailable(row, signatures)

    def judged_shape(self, row: MoeRow) -> Shape:
        """The key's batch is the routing."""
        return replace(row.shape, batch=0)
