"""What plans of the same options have in common, whatever their profiles: read and judged once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ckgen.families.common.signature import Signature
from ckgen.families.registry import FAMILIES, family_of_name
from ckgen.families.tables import fits, table_dialects, table_modules
from ckgen.model.arch import ArchSpec
from ckgen.model.collector import collector_paused
from ckgen.model.errors import UsageError
from ckgen.model.row import Row
from ckgen.model.target import Target
from ckgen.plan.examined import examined
from ckgen.plan.fates import settle
from ckgen.plan.filters import Filters
from ckgen.plan.legal import Offers
from ckgen.plan.options import PlanOptions
from ckgen.plan.rows import Entry, RowContext
from ckgen.specs.archs import arch_of_cu_num
from ckgen.tables.dialect import LoadOptions
from ckgen.tables.load import LoadedTables, load_tables


@dataclass(frozen=True, slots=True)
class FamilyRows:
    """The rows of one family, and what is known of them."""

    context: RowContext
    entries: Sequence[Entry]


@dataclass(frozen=True, slots=True)
class PlanInputs:
    """What no profile changes: rows and what is known of them, the targets, what kernel sets offer. Not thread-safe.

    `options` with any profiles; `archs` are all that are known.
    """

    options: PlanOptions
    archs: Mapping[str, ArchSpec]
    loaded: LoadedTables
    rows: Sequence[FamilyRows]
    targets: tuple[Target, ...]
    offers: Offers


@collector_paused()
def plan_inputs(options: PlanOptions, archs: Mapping[str, ArchSpec]) -> PlanInputs:
    """What plans of these options have in common, whatever their profiles; UsageError as of `make_plan`."""
    loaded = load_tables(options.tuning, load_options(options, archs))
    wanted = _wanted(options, loaded)
    if wanted is not None and not options.every_row:
        loaded = loaded.of_archs({target.gfx for target in wanted})
    filters = Filters.of(options)
    targets = wanted if wanted is not None else _targets_of(loaded, archs)
    offers = Offers([archs[name] for name in sorted({target.gfx for target in targets})], filters)
    found = []
    for context, rows in by_family(loaded, archs, frozenset(wanted) if wanted is not None else None, filters):
        entries = examined(context, rows)
        settle(context, entries)
        found.append(FamilyRows(context, entries))
    return PlanInputs(options, archs, loaded, found, targets, offers)


def by_family(
    loaded: LoadedTables,
    archs: Mapping[str, ArchSpec],
    targets: frozenset[Target] | None = None,
    filters: Filters | None = None,
) -> Iterator[tuple[RowContext, list[Row]]]:
    """The rows of each family in file order, with what is asked of them."""
    by_op: dict[str, list[Row]] = {}
    for row in loaded.rows:
        by_op.setdefault(row.op, []).append(row)
    for op, family in FAMILIES.items():
        if op in by_op:
            yield RowContext(family.row_meanings(archs), archs, targets, filters or Filters(), loaded.place), by_op[op]


def load_options(options: PlanOptions, archs: Mapping[str, ArchSpec]) -> LoadOptions:
    """What reading the tables of `options` needs to know of families and specs."""
    return LoadOptions(
        ops=options.ops,
        module=options.module,
        modules=table_modules(),
        fits=fits,
        gfx_of_cu=gfx_of_cu(archs, options.targets or (), options.assume_gfx),
        dialects=table_dialects(),
        assume_dtype=options.assume_dtype,
    )


@dataclass(frozen=True, slots=True)
class _GfxOfCu:
    """CU counts with their archs, as a function that equals one with the same answers."""

    archs: tuple[tuple[int, str], ...]

    def __call__(self, cu_num: int) -> str | None:
        return dict(self.archs).get(cu_num)


def gfx_of_cu(
    archs: Mapping[str, ArchSpec], targets: Sequence[Target], assumed: Mapping[int, str]
) -> Callable[[int], str | None]:
    """The one arch with that CU count: as assumed, else among the requested targets, else among all known products."""
    counts = {sku.cu_num for arch in archs.values() for sku in arch.skus}
    found = {count: gfx for count in counts if (gfx := arch_of_cu_num(archs, count)) is not None}
    requested: dict[int, set[str]] = {}
    for target in targets:
        requested.setdefault(target.cu_num, set()).add(target.gfx)
    found |= {count: next(iter(names)) for count, names in requested.items() if len(names) == 1}
    return _GfxOfCu(tuple(sorted((found | dict(assumed)).items())))


def named_in(options: PlanOptions) -> tuple[Signature, ...]:
    """The signatures that are asked for by their canonical names; what is no name of one is passed over."""
    found: list[Signature] = []
    for name in (*options.named, *options.signatures):
        with suppress(UsageError):
            signature = family_of_name(name).parse_signature(name, None)
            found += [signature] if signature.canonical() == name else []
    return tuple(dict.fromkeys(found))


def _wanted(options: PlanOptions, loaded: LoadedTables) -> tuple[Target, ...] | None:
    """The requested targets and, with `every_count`, those of their archs at every CU count that a row names."""
    if options.targets is None or not options.every_count:
        return options.targets
    archs = {target.gfx for target in options.targets}
    named = {target.any_sku for target in loaded.targets if target.gfx in archs}
    return tuple(sorted({*options.targets, *named}))


def _targets_of(loaded: LoadedTables, archs: Mapping[str, ArchSpec]) -> tuple[Target, ...]:
    """Every target of a known arch that a row names, its product known too."""
    return tuple(sorted(target for target in loaded.targets if _is_known(target, archs)))


def _is_known(target: Target, archs: Mapping[str, ArchSpec]) -> bool:
    arch = archs.get(target.gfx)
    return arch is not None and arch.has_product(target.cu_num, target.sku)
