"""Loading for the commands of `ckgen tables`, with every error that forbids to write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ckgen.cli.options import assumptions
from ckgen.cli.output import progress
from ckgen.families.gemm.grammar import fits
from ckgen.families.gemm.modules import modules
from ckgen.families.registry import FAMILIES
from ckgen.model.diagnostic import Diagnostic, sort_key
from ckgen.model.errors import UsageError
from ckgen.plan.identify import Identifier, meaningless, unparsable
from ckgen.plan.planner import gfx_of_cu
from ckgen.specs.archs import load_archs
from ckgen.tables.load import LoadedTables, LoadOptions, load_tables


def load(tables: Sequence[Path], module: str | None, assumed: Sequence[str]) -> LoadedTables:
    """The tables, one layer per argument; what is wrong inside is in `diagnostics`."""
    archs = load_archs()
    options = LoadOptions(
        ops=frozenset(FAMILIES),
        module=module,
        modules={name: entry.module for name, entry in modules().items()},
        fits=fits,
        gfx_of_cu=gfx_of_cu(archs, (), assumptions(assumed, archs)),
    )
    with progress("reading"):
        return load_tables(tables, options)


def problems_of(loaded: LoadedTables) -> tuple[Diagnostic, ...]:
    """Everything wrong but contradictions: bad cells, types that make no GEMM, kernel names that do not parse."""
    identifier = Identifier(modules(), load_archs())
    found = list(loaded.diagnostics)
    for row in loaded.rows:
        try:
            identifier.signatures(row)
        except UsageError as error:
            found.append(meaningless(row, loaded.place(row), error))
        if identifier.is_generated(row) and identifier.kernel(row) is None:
            found.append(unparsable(row, loaded.place(row)))
    return tuple(sorted(found, key=sort_key))
