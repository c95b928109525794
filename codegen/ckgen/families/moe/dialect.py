"""Tables of MoE layers: the cells of a tuned one as MoeRows, or one diagnostic for each that says nothing sensible."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ckgen.families.gemm.decode_dialect import EXPERTS
from ckgen.families.moe.columns import (
    BIT,
    BLOCK_M,
    COLUMNS,
    KEYS,
    NAMES,
    ONE_STAGE,
    OPTIONAL,
    REQUIRED,
    SPLIT_K,
    STAGE_ERRORS,
    STAGE_TIMES,
    TIME,
    count,
    kernel,
    share,
)
from ckgen.families.moe.module import moe_module
from ckgen.model.diagnostic import Location
from ckgen.model.groups import Routing
from ckgen.model.module import Module
from ckgen.model.moe_row import MoeDiscriminators, MoeRow, MoeStage
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape, TunedRow
from ckgen.tables.cell_readers import (
    NAME_COLUMN,
    SKU_COLUMN,
    UNKNOWN_LIBRARY,
    CellError,
    Reader,
    number,
    positive,
    sku,
    without_unknown,
)
from ckgen.tables.cells import Cells
from ckgen.tables.dialect import Dialect, ModuleReader
from ckgen.tables.reading import Adapted, Place, Reading, targets_of

Columns = Mapping[str, Sequence[Any]]


def adapt_moe(cells: Cells, module: Module, place: Place, gfx_of_cu: Callable[[int], str | None]) -> Adapted[TunedRow]:
    """Every row of a table that has all COLUMNS; a row with a bad cell becomes diagnostics and an `invalid` entry."""
    reading = Reading(cells, place.display)
    columns = _columns(reading)
    rows = len(cells.numbers)
    skus = reading.column(SKU_COLUMN, sku, empty="")
    targets = targets_of(columns.get("gfx"), columns.get("cu_num"), gfx_of_cu, rows, skus)
    keys = _Keys()
    found = []
    for index, line in enumerate(cells.numbers):
        row = _Cells(columns, index)
        stages = _stages(reading, module, line, row) if line not in reading.invalid else ()
        if line not in reading.invalid:
            found.append(_row(row, Location(place.path, line), place.layer, module, targets[index], keys, stages))
    return Adapted(tuple(found), tuple(reading.problems), tuple(sorted(reading.invalid.items())))


@dataclass(frozen=True, slots=True)
class _Cells:
    """One row of read columns; None where the dialect lacks the column."""

    columns: Columns
    index: int

    def __getitem__(self, name: str) -> Any:
        column = self.columns.get(name)
        return column[self.index] if column is not None else None


class _Keys:
    """Discriminators, each different one made once."""

    def __init__(self) -> None:
        self._made: dict[tuple[Any, ...], MoeDiscriminators] = {}

    def of(self, row: _Cells) -> MoeDiscriminators:
        values = {field: row[name] for name, (field, _) in REQUIRED.items()}
        values |= {field: row[name] for name, (field, _, _) in OPTIONAL.items() if name in row.columns}
        key = tuple(values.items())
        if key not in self._made:
            self._made[key] = MoeDiscriminators(**without_unknown(values))
        return self._made[key]


def _columns(reading: Reading) -> Columns:
    asked: dict[str, tuple[Reader, bool, object]] = {name: (reader, True, None) for name, reader in KEYS.items()}
    asked |= {name: (reader, True, None) for name, (_, reader) in REQUIRED.items()}
    asked |= {name: (reader, False, empty) for name, (_, reader, empty) in OPTIONAL.items()}
    asked |= dict.fromkeys(NAMES, (kernel, False, ""))
    asked |= dict.fromkeys(STAGE_TIMES, (number, False, None)) | dict.fromkeys(STAGE_ERRORS, (share, False, None))
    asked |= {
        TIME: (number, False, float("nan")), BLOCK_M: (positive, False, None), SPLIT_K: (count, False, 0),
        ONE_STAGE: (BIT, False, False),
    }  # fmt: skip
    read = {name: reading.column(name, how, required=must, empty=empty) for name, (how, must, empty) in asked.items()}
    return {name: values for name, values in read.items() if values is not None}


def _stages(reading: Reading, module: Module, line: int, row: _Cells) -> tuple[MoeStage, ...]:
    """The row's kernels; a name that is missing, or one too many, is reported."""
    names = [row[name] for name in NAMES]
    if not names[0]:
        reading.report(line, NAMES[0], "", CellError("T004", "is missing", "expected the name of a kernel"))
    if not row[ONE_STAGE] and not names[1]:
        expected = f"expected the name of the second kernel, or {ONE_STAGE} 1"
        reading.report(line, NAMES[1], "", CellError("T004", "is missing", expected))
    if row[ONE_STAGE] and names[1]:
        expected = f"expected no second kernel, or {ONE_STAGE} 0"
        reading.report(line, NAMES[1], names[1], CellError("T006", f"stands beside {ONE_STAGE} 1", expected))
    return tuple(
        MoeStage(_library(module, name), name, row[time], row[error])
        for name, time, error in zip(names, STAGE_TIMES, STAGE_ERRORS, strict=True)
        if name
    )


def _library(module: Module, name: str) -> str:
    return next((library for prefix, library in module.prefixes if name.startswith(prefix)), UNKNOWN_LIBRARY)


def _row(
    row: _Cells,
    location: Location,
    layer: int,
    module: Module,
    target: Target | None,
    keys: _Keys,
    stages: tuple[MoeStage, ...],
) -> MoeRow:
    experts, top_k = row["expert"], row["topk"]
    errors = [stage.error_ratio for stage in stages if stage.error_ratio is not None]
    return MoeRow(
        location=location,
        layer=layer,
        module=module.name,
        target=target,
        cu_num=row["cu_num"],
        shape=Shape(Routing(experts, top_k or 0).lookup_key, row["token"], row["inter_dim"], row["model_dim"]),
        discriminators=keys.of(row),
        library="+".join(dict.fromkeys(stage.library for stage in stages)),
        kernel=" + ".join(stage.kernel for stage in stages),
        k_batch=max(row[SPLIT_K] or 0, 1),
        us=row[TIME],
        error_ratio=max(errors, default=None),
        experts=experts,
        top_k=top_k,
        stages=stages,
        block_m=row[BLOCK_M],
    )


_ROUTED = frozenset({"token", "topk"})
_TUNED = frozenset({TIME, NAME_COLUMN, NAMES[0]})

TUNED = Dialect(
    kind="moe_tuned",
    op="moe",
    recognises=lambda names: names >= _ROUTED and not names.isdisjoint(_TUNED),
    told_by="token and topk of a MoE table",
    keys=("dtype", "q_dtype_w"),
    implied_gfx=True,
    reader=ModuleReader(moe_module().module.name, COLUMNS, adapt_moe),
)
SHAPES = Dialect("moe_shapes", "moe", lambda names: names >= _ROUTED and names.isdisjoint(_TUNED))

DIALECTS = (TUNED, SHAPES, EXPERTS)
