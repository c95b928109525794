"""Tables of the MX-FP8 kernels for few rows as TunedRows: K, N, M, n_sub, k_splits, use_hip; or, of expert products,
N, K, a_div, has_weight, use_hip. gfx, cu_num and, of GEMMs, kernel are optional.

A GEMM row's kernel is named as mxfp8_tables.FORM says. With use_hip 0 a row says "not this one": its winner is the
caller's own kernel, an external one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ckgen.families.gemm.hip_config import HipKind
from ckgen.families.gemm.mxfp8_envelope import envelope
from ckgen.families.gemm.mxfp8_tables import LIBRARY, MODULE, name_of_row, usual_kind
from ckgen.model.diagnostic import Location
from ckgen.model.module import Module
from ckgen.model.target import Target
from ckgen.model.tuned_row import Discriminators, ExpertProduct, Shape, TunedRow
from ckgen.specs.targets import target_of_product
from ckgen.tables.cell_readers import LARGEST, SKU_COLUMN, CellError, Reader, arch, one_of, positive, sku
from ckgen.tables.cells import Cells
from ckgen.tables.dialect import Dialect, ModuleReader
from ckgen.tables.reading import Adapted, Place, Reading, targets_of

CALLER, OWN = "caller", "own"
"""Library and kernel of a row that declines."""
USUAL_LIBRARY, USUAL = "ckgen", "usual"
"""Those of a row of experts that does not: kernels answer as without it."""
_USE = "use_hip"
_FLAG = one_of({"0": False, "1": True})
_NO_DISCRIMINATORS = Discriminators()


def count(text: str) -> int | CellError:
    """An integer of at least 0, which is the kernel's own (T005)."""
    found = 0 if text == "0" else positive(text)
    wrong = CellError("T005", "is not a count", f"expected an integer from 0 to {LARGEST}")
    return wrong if isinstance(found, CellError) else found


COLUMNS: Mapping[str, Reader] = {
    "K": positive, "N": positive, "M": positive, "n_sub": count, "k_splits": count,
    _USE: _FLAG,
}  # fmt: skip
"""Those that a table must have, in any order."""
TARGET: Mapping[str, Reader] = {"gfx": arch, "cu_num": positive}
OPTIONAL: Mapping[str, Reader] = {"kernel": one_of({kind.value: kind for kind in (HipKind.GEMV, HipKind.MFMA)})}
"""Of a table of GEMMs, beside its target."""


EXPERT_COLUMNS: Mapping[str, Reader] = {
    "N": positive, "K": positive, "a_div": positive, "has_weight": _FLAG, _USE: _FLAG,
}  # fmt: skip
"""The same of tables of expert products. N is rows of B, gate and up ones; a_div is top_k for gate_up, 1 for down."""


_OF_EXPERTS = frozenset({"N", "K", "a_div", _USE})


def adapt_decode(
    cells: Cells, module: Module, place: Place, gfx_of_cu: Callable[[int], str | None]
) -> Adapted[TunedRow]:
    """Every row of a table that has all COLUMNS; a row with a bad cell becomes diagnostics and an `invalid` entry.

    A row that tells no `kernel` is of the usual kind for its M.
    """
    return _adapted(cells, module, place, gfx_of_cu, COLUMNS, _of_gemm, OPTIONAL)


def adapt_experts(
    cells: Cells, module: Module, place: Place, gfx_of_cu: Callable[[int], str | None]
) -> Adapted[TunedRow]:
    """The same with EXPERT_COLUMNS. A row is for any M and any routing: its M is 1, its batch 0."""
    return _adapted(cells, module, place, gfx_of_cu, EXPERT_COLUMNS, _of_experts)


def _usual_target() -> Target:
    """Of tables that tell none: the chip that these kernels are for."""
    return target_of_product(envelope().usual_product)


@dataclass(frozen=True, slots=True)
class _Meaning:
    shape: Shape
    discriminators: Discriminators
    library: str
    kernel: str


def _of_gemm(k: int, n: int, m: int, n_sub: int, k_splits: int, use: bool, kind: HipKind | None) -> _Meaning:
    answer = (LIBRARY, name_of_row(kind or usual_kind(m), m, n_sub, k_splits)) if use else (CALLER, OWN)
    return _Meaning(Shape(0, m, n, k), _NO_DISCRIMINATORS, *answer)


def _of_experts(n: int, k: int, a_div: int, weighted: bool, use: bool) -> _Meaning:
    answer = (USUAL_LIBRARY, USUAL) if use else (CALLER, OWN)
    return _Meaning(Shape(0, 1, n, k), Discriminators(experts=ExpertProduct(a_div > 1, weighted)), *answer)


def _adapted(
    cells: Cells,
    module: Module,
    place: Place,
    gfx_of_cu: Callable[[int], str | None],
    columns: Mapping[str, Reader],
    meaning: Callable[..., _Meaning],
    optional: Mapping[str, Reader] = MappingProxyType({}),
) -> Adapted[TunedRow]:
    reading = Reading(cells, place.display)
    nothing = [None] * len(cells.numbers)
    read = {name: reading.column(name, how, required=True) for name, how in {**columns, **TARGET}.items()}
    skus = reading.column(SKU_COLUMN, sku, empty="")
    targets = targets_of(read["gfx"], read["cu_num"], gfx_of_cu, len(cells.numbers), skus)
    if read["gfx"] is None and read["cu_num"] is None:
        targets = [_usual_target()] * len(cells.numbers)
    told = [read[name] or () for name in columns]
    told += [reading.column(name, how) or nothing for name, how in optional.items()]
    values = zip(*told, strict=True)
    counts = read["cu_num"] or [_usual_target().cu_num] * len(cells.numbers)
    rows = tuple(
        _row(Location(place.path, line), place.layer, module, target, cu_num, meaning(*cells_of_row))
        for line, target, cu_num, cells_of_row in zip(cells.numbers, targets, counts, values, strict=True)
        if line not in reading.invalid
    )
    return Adapted(rows, tuple(reading.problems), tuple(sorted(reading.invalid.items())))


def _row(
    location: Location, layer: int, module: Module, target: Target | None, cu_num: int, meaning: _Meaning
) -> TunedRow:
    return TunedRow(
        location=location,
        layer=layer,
        module=module.name,
        target=target,
        cu_num=cu_num,
        shape=meaning.shape,
        discriminators=meaning.discriminators,
        library=meaning.library,
        kernel=meaning.kernel,
        k_batch=1,
        us=None,
        error_ratio=None,
    )


DECODE = Dialect(
    kind="decode_tuned",
    op="gemm",
    recognises=lambda names: names >= {"M", "N", "K", _USE} and not names >= _OF_EXPERTS,
    reader=ModuleReader(MODULE, tuple(COLUMNS), adapt_decode),
)
EXPERTS = Dialect(
    kind="decode_experts",
    op="moe",
    recognises=lambda names: names >= _OF_EXPERTS,
    reader=ModuleReader(MODULE, tuple(EXPERT_COLUMNS), adapt_experts),
)
