"""What families tell the loader of tables: how a header is told, which module its tables are of, how rows are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ckgen.model.diagnostic import Diagnostic
from ckgen.model.dtype import DType
from ckgen.model.module import Module
from ckgen.model.row import Row
from ckgen.tables.cells import Cells
from ckgen.tables.reading import Adapted, Place

GfxOfCu = Callable[[int], str | None]
"""The one known arch with that CU count."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a table tells: its module, if tables of its kind have one, and its rows."""

    module: str | None
    adapted: Adapted[Row]


class TableReader(Protocol):
    """Reads the tables of a dialect."""

    @property
    def columns(self) -> Sequence[str]:
        """Those that a header must have."""
        ...

    def is_asked(self, options: LoadOptions) -> bool:
        """Whether tables of this dialect may be of the module that is asked for, if any."""
        ...

    def read(self, cells: Cells, place: Place, options: LoadOptions) -> Told | Diagnostic:
        """What the table tells, or why its module is not known."""
        ...


@dataclass(frozen=True, slots=True)
class ModuleReader:
    """Reads tables that are all of one module."""

    module: str
    columns: tuple[str, ...]
    adapt: Callable[[Cells, Module, Place, GfxOfCu], Adapted[Row]]

    def is_asked(self, options: LoadOptions) -> bool:
        """See TableReader."""
        return options.module in (None, self.module)

    def read(self, cells: Cells, place: Place, options: LoadOptions) -> Told:
        """See TableReader."""
        return Told(self.module, self.adapt(cells, options.modules[self.module], place, options.gfx_of_cu))


@dataclass(frozen=True, slots=True)
class Dialect:
    """Tables of one kind, about one operation; `op` is empty where each row tells its own. Without a `reader` they list
    shapes, and are counted.

    `recognises` takes a header's names. `told_by` is how a user knows such a header, empty where nothing is said of it.
    `keys` are the columns that tables of one module must have in common to be one; `implied_gfx`: where a table has no
    column `gfx`, its `cu_num` implies it. `unread`: columns that decide nothing. `open_dtype`:
    the column that should tell the operands' type, where neither a table nor its module does.
    """

    kind: str
    op: str
    recognises: Callable[[frozenset[str]], bool]
    told_by: str = ""
    keys: tuple[str, ...] = ()
    implied_gfx: bool = False
    unread: frozenset[str] = frozenset()
    open_dtype: Callable[[Cells, Place, LoadOptions], str | None] | None = None
    reader: TableReader | None = None


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """What is asked for, and what the families and specs know.

    `assume_dtype` is the operands' type of rows that tell none where their module leaves it open.
    `fits` names the modules whose grammar a kernel name fits. A header that several of `dialects` recognise is the last
    one's. Tables are not read again with equal options, of which functions are parts: equal ones answer alike.
    """

    ops: frozenset[str]
    module: str | None
    modules: Mapping[str, Module] = field(hash=False)
    fits: Callable[[str], frozenset[str]]
    gfx_of_cu: GfxOfCu
    dialects: tuple[Dialect, ...]
    assume_dtype: DType | None = None


def classify(header: Iterable[str], dialects: Sequence[Dialect]) -> Dialect | None:
    """The last of the dialects that recognises a header of these names."""
    names = frozenset(header)
    return next((dialect for dialect in reversed(dialects) if dialect.recognises(names)), None)
