"""Tables of GEMMs: the cells of a tuned one as TunedRows, or one diagnostic for each that says nothing sensible."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import compress, repeat
from typing import Any

from ckgen.families.gemm.columns import (
    BATCH_COLUMN,
    DISCRIMINATORS,
    ERROR_COLUMNS,
    KEY_COLUMNS,
    OPERAND_COLUMNS,
    UNREAD,
    k_batch,
    library,
)
from ckgen.families.gemm.decode_dialect import DECODE
from ckgen.families.gemm.modules import modules
from ckgen.families.gemm.table_module import ambiguous_module, resolve_module
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.dtype import DType
from ckgen.model.module import Module
from ckgen.model.tuned_row import Discriminators, Shape, TunedRow
from ckgen.specs.archs import load_archs
from ckgen.tables.cell_readers import (
    LIBRARY_COLUMN,
    NAME_COLUMN,
    SKU_COLUMN,
    SPLIT_K_COLUMN,
    TIME_COLUMN,
    UNKNOWN_LIBRARY,
    CellError,
    number,
    sku,
    without_unknown,
)
from ckgen.tables.cells import Cells
from ckgen.tables.dialect import Dialect, LoadOptions, Told
from ckgen.tables.reading import Adapted, Place, Reading, targets_of

_SIZES = frozenset("MNK")
_CAPITALS = {name: name.upper() for name in "bmnk"}
"""Some tables have the sizes in small letters."""
_TUNED = frozenset({TIME_COLUMN, NAME_COLUMN})


def adapt(
    cells: Cells,
    module: Module,
    place: Place,
    gfx_of_cu: Callable[[int], str | None],
    operand: DType | None = None,
) -> Adapted[TunedRow]:
    """Every row of a table of this module; a row with a bad cell becomes diagnostics and an `invalid` entry.

    `operand` is the type of operands that the table does not tell.
    """
    reading = Reading(cells, place.display)
    keys = {name: reading.column(name, reader, required=True) for name, reader in KEY_COLUMNS.items()}
    skus = reading.column(SKU_COLUMN, sku, empty="")
    kernels = reading.column(NAME_COLUMN, str, required=True)
    libraries = _libraries(reading, module, kernels)
    batches = _k_batches(reading, module, libraries)
    times = reading.column(TIME_COLUMN, number, empty=float("nan"))
    errors = next((reading.column(name, number) for name in ERROR_COLUMNS if name in cells.columns), None)

    counts = keys["cu_num"] or _usual_counts(keys["gfx"])
    count = len(cells.numbers)
    every = map(
        TunedRow,
        map(Location, repeat(place.path), cells.numbers),
        repeat(place.layer),
        repeat(module.name),
        targets_of(keys["gfx"], counts, gfx_of_cu, count, skus),
        keys["cu_num"] or repeat(0),
        map(Shape, keys[BATCH_COLUMN] or repeat(0), keys["M"] or (), keys["N"] or (), keys["K"] or ()),
        _discriminators(keys, count, operand),
        libraries,
        kernels or repeat(""),
        batches,
        times or repeat(None),
        errors or repeat(None),
    )
    rows = tuple(compress(every, [line not in reading.invalid for line in cells.numbers]))
    return Adapted(rows, tuple(reading.problems), tuple(sorted(reading.invalid.items())))


def _usual_counts(archs: Sequence[Any] | None) -> Sequence[Any] | None:
    """Of a table that tells only the arch, the CU count of its usual product; None where there is no spec of it."""
    if archs is None:
        return None
    known = load_archs()
    usual = {gfx: known[gfx].default_cu_num for gfx in set(archs) if gfx in known}
    return [usual.get(gfx) for gfx in archs]


def _libraries(reading: Reading, module: Module, kernels: Sequence[Any] | None) -> list[Any]:
    named = reading.column(LIBRARY_COLUMN, library(module.generated), required=True)
    if named is not None:
        reading.warn_of_near(LIBRARY_COLUMN, named, {"asm", *module.generated})
        return named
    if kernels is None:
        return [UNKNOWN_LIBRARY] * len(reading.cells.numbers)
    return ["asm" if isinstance(name, str) and name.startswith("_Z") else "ck" for name in kernels]


def _k_batches(reading: Reading, module: Module, libraries: Sequence[Any]) -> list[Any]:
    texts = reading.cells.columns.get(SPLIT_K_COLUMN) or [""] * len(libraries)
    pairs = list(zip(libraries, texts, strict=True))
    values = {
        (name, text): name if isinstance(name, CellError) else k_batch(module.split_k_of(name), text.strip())
        for name, text in set(pairs)
    }
    for line, pair in zip(reading.cells.numbers, pairs, strict=True):
        if isinstance(problem := values[pair], CellError) and not isinstance(pair[0], CellError):
            reading.report(line, f"{SPLIT_K_COLUMN} of library {pair[0]}:", pair[1], problem)
    return [values[pair] for pair in pairs]


def _discriminators(
    keys: Mapping[str, list[Any] | None], count: int, operand: DType | None
) -> Sequence[Discriminators | None]:
    assumed: dict[str, Any] = {"weight_dtype": operand}
    present = {field: values for name, (field, _) in DISCRIMINATORS.items() if (values := keys[name]) is not None}
    if not present:
        return [Discriminators(**assumed)] * count
    tuples = list(zip(*present.values(), strict=True))
    shared = {
        values: None
        if any(isinstance(value, CellError) for value in values)
        else Discriminators(**assumed | without_unknown(dict(zip(present, values, strict=True))))
        for values in set(tuples)
    }
    return [shared[values] for values in tuples]


class _GemmTables:
    """Tables whose module is asked for, or told by their file's name or their kernels'."""

    columns: tuple[str, ...] = ()

    def is_asked(self, options: LoadOptions) -> bool:
        return options.module is None or options.modules[options.module].op == "gemm"

    def read(self, cells: Cells, place: Place, options: LoadOptions) -> Told | Diagnostic:
        cells = _in_capitals(cells)
        module = _module(cells, place, options)
        if isinstance(module, Diagnostic):
            return module
        operand = options.assume_dtype if _is_open(module, cells) else None
        return Told(module.name, adapt(cells, module, place, options.gfx_of_cu, operand))


def _in_capitals(cells: Cells) -> Cells:
    if not _SIZES.isdisjoint(cells.columns):
        return cells
    return replace(cells, columns={_CAPITALS.get(name, name): texts for name, texts in cells.columns.items()})


def _module(cells: Cells, place: Place, options: LoadOptions) -> Module | Diagnostic:
    batched = BATCH_COLUMN in cells.columns
    kernels = {name.strip() for name in cells.columns.get(NAME_COLUMN, ())}
    modules = {name: module for name, module in options.modules.items() if module.op == "gemm"}
    module = resolve_module(place.path, batched, options.module, kernels, modules, options.fits)
    return module or ambiguous_module(place.display, batched, options.module, modules)


def _open_dtype(cells: Cells, place: Place, options: LoadOptions) -> str | None:
    """`q_dtype_w` where nothing tells the type of operands."""
    module = _module(_in_capitals(cells), place, options)
    return OPERAND_COLUMNS[0] if isinstance(module, Module) and _is_open(module, cells) else None


def _is_open(module: Module, cells: Cells) -> bool:
    """Whether neither the module nor a column tells the type of operands."""
    known = modules().get(module.name)
    return known is not None and known.template.operand is None and cells.columns.keys().isdisjoint(OPERAND_COLUMNS)


def _has_sizes(names: frozenset[str]) -> bool:
    return names >= _SIZES or (names >= {"m", "n", "k"} and names.isdisjoint(_SIZES))


TUNED = Dialect(
    kind="gemm_tuned",
    op="gemm",
    recognises=lambda names: _has_sizes(names) and not names.isdisjoint(_TUNED),
    told_by="M, N, K of a GEMM table",
    keys=(*DISCRIMINATORS, "m"),
    implied_gfx=True,
    unread=UNREAD,
    open_dtype=_open_dtype,
    reader=_GemmTables(),
)
SHAPES = Dialect("gemm_shapes", "gemm", lambda names: _has_sizes(names) and names.isdisjoint(_TUNED))

DIALECTS = (TUNED, SHAPES, DECODE)
