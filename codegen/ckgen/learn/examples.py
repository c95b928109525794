"""What a rule learns from, and is judged by: a module's measured winners on one arch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ckgen.families.common.decision_rule import Asked, Leaf
from ckgen.families.gemm.grammar import identify
from ckgen.model.fate import FateKind
from ckgen.model.tuned_row import TunedRow
from ckgen.plan.model import GenerationPlan


@dataclass(frozen=True, slots=True)
class Example:
    """A measured problem and the kernel that won it; `us` is None where the table does not tell."""

    asked: Asked
    batch: int
    winner: Leaf
    us: float | None
    file: str

    @property
    def group(self) -> tuple[int, int, int]:
        """Batch, N and K: the layer that M is drawn for."""
        return self.batch, self.asked.n, self.asked.k


def examples_of(plan: GenerationPlan, module: str, arch: str) -> tuple[Example, ...]:
    """The rows of GEMM tables of the module that the plan selects on the arch, in the order of their files.

    Of rows of the same sizes and CU count, whose operand types differ, all are kept.
    """
    kinds = {id(fate.location): fate.kind for fate in plan.fates}
    found = []
    for file in plan.files:
        for row in file.rows:
            if not isinstance(row, TunedRow) or row.module != module or row.target is None or row.target.gfx != arch:
                continue
            if kinds[id(row.location)] is not FateKind.SELECTED:
                continue
            shape = row.shape
            asked = Asked(shape.m, shape.n, shape.k, shape.m, row.target.cu_num)
            winner = Leaf(row.library, row.kernel, max(row.k_batch or 1, 1))
            found.append(Example(asked, max(shape.batch or 1, 1), winner, row.us, file.display))
    return tuple(found)


def tiles_of(examples: Iterable[Example], module: str) -> tuple[tuple[int, int], ...]:
    """Rows and columns of the tiles that winners have, each once, in order."""
    kernels = {(example.winner.library, example.winner.kernel) for example in examples}
    tiles = [found.config.macro_tile for name in kernels if (found := identify(module, *name)) is not None]
    return tuple(sorted({(tile.m, tile.n) for tile in tiles}))
