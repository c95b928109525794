"""Loading for the commands of `ckgen tables`, with every error that forbids to write."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ckgen.cli.options import assumptions
from ckgen.cli.output import progress
from ckgen.families.gemm.grammar import fits
from ckgen.families.registry import FAMILIES
from ckgen.families.tables import table_dialects, table_modules
from ckgen.model.diagnostic import Diagnostic, Location, sort_key
from ckgen.model.errors import UsageError
from ckgen.model.row import Row
from ckgen.model.tuned_row import TunedRow
from ckgen.plan.entry import Entry, RowContext
from ckgen.plan.examine import examine, set_keys
from ckgen.plan.identify import Identifier, is_printable, meaningless, unparsable, unprintable
from ckgen.plan.survey import gfx_of_cu
from ckgen.specs.archs import load_archs
from ckgen.tables.dialect import LoadOptions
from ckgen.tables.load import LoadedTables, load_tables
from ckgen.tables.repair import problems_of_cells


def load(tables: Sequence[Path], module: str | None, assumed: Sequence[str]) -> LoadedTables:
    """The tables, one layer per argument; what is wrong inside is in `diagnostics`."""
    archs = load_archs()
    options = LoadOptions(
        ops=frozenset(FAMILIES),
        module=module,
        modules=table_modules(),
        fits=fits,
        gfx_of_cu=gfx_of_cu(archs, (), assumptions(assumed, archs)),
        dialects=table_dialects(),
    )
    with progress("reading"):
        return load_tables(tables, options)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the planner makes of rows: which of them are about the same problem, and whose time it believes."""

    entries: Mapping[tuple[int, Location], Entry]

    def problems(self, row: Row) -> Sequence[Hashable]:
        """Rows of one layer that have one of these in common answer the same question."""
        entry = self.entries.get(_placed(row))
        return entry.keys if entry is not None and entry.keys else problems_of_cells(row)

    def believed(self, row: Row) -> bool:
        """Whether the row could be selected as far as its measurement goes."""
        return self.entries[_placed(row)].refused is None


def judgement_of(loaded: LoadedTables) -> Judgement:
    """The planner's view of every row."""
    archs = load_archs()
    context = RowContext(Identifier(table_modules(), archs), archs, None, lambda *_: None, loaded.place)
    entries = {_placed(row): examine(context, row) for row in loaded.of(TunedRow)}
    set_keys(context, entries.values())
    return Judgement(entries)


def _placed(row: Row) -> tuple[int, Location]:
    return row.layer, row.location


def problems_of(loaded: LoadedTables) -> tuple[Diagnostic, ...]:
    """Everything wrong but contradictions: bad cells, types that mean nothing, names that do not parse."""
    identifier = Identifier(table_modules(), load_archs())
    found = list(loaded.diagnostics)
    for row in loaded.of(TunedRow):
        try:
            identifier.signatures(row)
        except UsageError as error:
            found.append(meaningless(row, loaded.place(row), error))
        if identifier.is_generated(row) and identifier.kernel(row) is None:
            found.append(unparsable(row, loaded.place(row)))
        elif not is_printable(row):
            found.append(unprintable(row, loaded.place(row)))
    return tuple(sorted(found, key=sort_key))
