"""What a rule learns from, and is judged by: measured winners, of journals with what every other candidate costs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ckgen.families.common.decision_rule import Asked, Leaf
from ckgen.families.gemm.config import GemmConfig
from ckgen.families.gemm.config_names import parse_config
from ckgen.families.gemm.grammar import identify
from ckgen.families.gemm.host_config import HostConfig
from ckgen.families.gemm.modules import modules
from ckgen.families.gemm.signature import parse_canonical
from ckgen.model.backend import Backend
from ckgen.model.fate import FateKind
from ckgen.model.halves import Halves
from ckgen.model.tuned_row import TunedRow
from ckgen.plan.model import GenerationPlan


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds of one call, and the standard error of that median as a part of it."""

    us: float
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class Example:
    """A measured problem and the kernel that won it; `us` is None where the table does not tell.

    `file` is the table or the device that it is of. `costs` are those of all candidates and `selected` what selection
    took as the library stood, both of journals alone. `sku`: the product that it was measured on, where that is told.
    `halves`: their microseconds by halves of several rounds.
    """

    asked: Asked
    batch: int
    winner: Leaf
    us: float | None
    file: str
    costs: Mapping[Leaf, Cost] = field(default_factory=dict)
    selected: Leaf | None = None
    sku: str = ""
    halves: Halves[Leaf] = field(default_factory=Halves)

    @property
    def group(self) -> tuple[int, int, int]:
        """Batch, N and K: the layer that M is drawn for."""
        return self.batch, self.asked.n, self.asked.k

    def regret(self, chosen: Leaf | None) -> float | None:
        """The time of what is chosen over the best; what selection takes answers for None and for what was not timed.

        Judged by halves where there were several rounds. None where neither was timed.
        """
        found = next((one for one in (chosen, self.selected) if one in self.costs), None)
        if found is None:
            return None
        by_halves = self.halves.regret((found,))
        return by_halves if by_halves is not None else self.costs[found].us / self.costs[self.winner].us


@dataclass(frozen=True, slots=True)
class Rows:
    """What a plan has of a module on an arch, in the order of its files: the rows that it selects, and pairs of rows of
    one problem that were measured apart, of which it selects one at most."""

    selected: tuple[Example, ...]
    twice: tuple[tuple[Example, Example], ...]


_MEASURED = (FateKind.SELECTED, FateKind.OVERRIDDEN)


def rows_of(plan: GenerationPlan, module: str, arch: str) -> Rows:
    """Of GEMM tables. Of selected rows of the same sizes and CU count, whose operand types differ, all are kept."""
    fates = {id(fate.location): fate.kind for fate in plan.fates}
    selected, known, pairs = [], defaultdict[Any, list[Example]](list), []
    for file in plan.files:
        for row in file.rows:
            if not isinstance(row, TunedRow) or row.module != module or row.target is None or row.target.gfx != arch:
                continue
            fate = fates[id(row.location)]
            if fate not in _MEASURED:
                continue
            shape = row.shape
            asked = Asked(shape.m, shape.n, shape.k, shape.m, row.target.cu_num)
            winner = Leaf(row.library, row.kernel, max(row.k_batch or 1, 1))
            example = Example(asked, max(shape.batch or 1, 1), winner, row.us, file.display, sku=row.target.sku)
            if fate is FateKind.SELECTED:
                selected.append(example)
            same = known[row.target, shape, row.discriminators]
            pairs += [(other, example) for other in same if other.us != example.us]
            same.append(example)
    return Rows(tuple(selected), tuple(pairs))


def config_of(subject: str, leaf: Leaf) -> Any:
    """The Config that a leaf's kernel is; `subject` is a module of tables or a signature."""
    if subject not in modules():
        return parse_config(parse_canonical(subject), Backend(leaf.library), leaf.kernel)
    found = identify(subject, leaf.library, leaf.kernel)
    return found.config if found is not None else None


def tiles_of(leaves: Iterable[Leaf], subject: str) -> tuple[tuple[int, int], ...]:
    """Rows and columns of the tiles that kernels have, each once, in order; of a CPU's those of registers."""
    configs = (config_of(subject, Leaf(*name)) for name in {(leaf.library, leaf.kernel) for leaf in leaves})
    return tuple(sorted({_tile(config) for config in configs if config is not None}))


def _tile(config: GemmConfig) -> tuple[int, int]:
    if isinstance(config, HostConfig):
        return config.mr, config.nr
    return config.macro_tile.m, config.macro_tile.n
