"""Loading for the commands of `ckgen tables`, with every error that forbids to write."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ckgen.cli.option_values import assumed_dtype, assumptions
from ckgen.cli.output import progress
from ckgen.families.registry import FAMILIES
from ckgen.families.tables import fits, table_dialects, table_modules
from ckgen.model.diagnostic import Diagnostic, Location, in_order
from ckgen.model.row import Row
from ckgen.model.tuned_row import TunedRow
from ckgen.plan.examined import examine, name_finding, set_keys, signature_finding
from ckgen.plan.inputs import by_family, gfx_of_cu
from ckgen.plan.rows import Entry
from ckgen.specs.archs import load_archs
from ckgen.tables.dialect import LoadOptions
from ckgen.tables.load import LoadedTables, load_tables
from ckgen.tables.repair import problems_of_cells


def load(
    tables: Sequence[Path], module: str | None, assume_gfx: Sequence[str], assume_dtype: str | None
) -> LoadedTables:
    """The tables, one layer per argument; what is wrong inside is in `diagnostics`."""
    options = asked(module, assume_gfx, assume_dtype)
    with progress("reading"):
        return load_tables(tables, options)


def asked(module: str | None, assume_gfx: Sequence[str], assume_dtype: str | None) -> LoadOptions:
    """What a command asks of tables of all operations."""
    archs = load_archs()
    return LoadOptions(
        ops=frozenset(FAMILIES),
        module=module,
        modules=table_modules(),
        fits=fits,
        gfx_of_cu=gfx_of_cu(archs, (), assumptions(assume_gfx, archs)),
        dialects=table_dialects(),
        assume_dtype=assumed_dtype(assume_dtype),
    )


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
    entries: dict[tuple[int, Location], Entry] = {}
    for context, rows in by_family(loaded, load_archs()):
        examined = [examine(context, row) for row in rows]
        set_keys(context, examined)
        entries |= {_placed(entry.row): entry for entry in examined}
    return Judgement(entries)


def _placed(row: Row | TunedRow) -> tuple[int, Location]:
    return row.layer, row.location


def problems_of(loaded: LoadedTables) -> tuple[Diagnostic, ...]:
    """Everything wrong but contradictions: bad cells, types that mean nothing, names that do not parse."""
    found = list(loaded.diagnostics)
    for context, rows in by_family(loaded, load_archs()):
        said = (wrong(context, row) for row in rows for wrong in (signature_finding, name_finding))
        found += (finding for finding in said if finding is not None)
    return in_order(found)
