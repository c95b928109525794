"""What plans of the same options have in common, whatever their profiles: read and judged once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ckgen.families.gemm.grammar import fits
from ckgen.families.registry import Signature
from ckgen.families.tables import table_dialects, table_modules
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.collector import collector_paused
from ckgen.model.target import Target
from ckgen.model.tuned_row import TunedRow
from ckgen.plan.entry import Entry, RowContext
from ckgen.plan.examine import examined
from ckgen.plan.identify import Identifier
from ckgen.plan.offers import Keep, Named, Offers
from ckgen.plan.options import PlanOptions
from ckgen.specs.archs import arch_of_cu_num
from ckgen.tables.dialect import LoadOptions
from ckgen.tables.load import LoadedTables, load_tables


@dataclass(frozen=True, slots=True)
class Survey:
    """What no profile changes: rows and what is known of them, the targets, what kernel sets offer. Not thread-safe.

    `options` with any profiles; `archs` are all that are known.
    """

    options: PlanOptions
    archs: Mapping[str, ArchSpec]
    loaded: LoadedTables
    context: RowContext
    entries: Sequence[Entry]
    targets: tuple[Target, ...]
    offers: Offers


@collector_paused()
def survey(options: PlanOptions, archs: Mapping[str, ArchSpec]) -> Survey:
    """What plans of these options have in common, whatever their profiles; UsageError as of `make_plan`."""
    loaded = load_tables(options.tuning, load_options(options, archs))
    wanted = _wanted(options, loaded)
    keep = _filter(options)
    context = RowContext(
        identifier=Identifier(table_modules(), archs),
        archs=archs,
        targets=frozenset(wanted) if wanted is not None else None,
        keep=keep,
        place=loaded.place,
    )
    entries = examined(context, loaded.of(TunedRow))
    targets = wanted if wanted is not None else _targets_of(loaded, archs)
    offers = Offers([archs[name] for name in sorted({target.gfx for target in targets})], keep)
    return Survey(options, archs, loaded, context, entries, targets, offers)


def load_options(options: PlanOptions, archs: Mapping[str, ArchSpec]) -> LoadOptions:
    """What reading the tables of `options` needs to know of families and specs."""
    return LoadOptions(
        ops=options.ops,
        module=options.module,
        modules=table_modules(),
        fits=fits,
        gfx_of_cu=gfx_of_cu(archs, options.targets or (), options.assume_gfx),
        dialects=table_dialects(),
    )


def gfx_of_cu(
    archs: Mapping[str, ArchSpec], targets: Sequence[Target], assumed: Mapping[int, str]
) -> Callable[[int], str | None]:
    """The one arch with that CU count: as assumed, else among the requested targets, else among all known products."""

    def answer(cu_num: int) -> str | None:
        if cu_num in assumed:
            return assumed[cu_num]
        requested = {target.gfx for target in targets if target.cu_num == cu_num}
        if len(requested) == 1:
            return next(iter(requested))
        return arch_of_cu_num(archs, cu_num)

    return answer


def _filter(options: PlanOptions) -> Keep:
    def keep(signatures: Iterable[Signature], kernel: str | Named, backend: Backend) -> str | None:
        if options.backends and str(backend) not in options.backends:
            return f"--backend leaves out {backend}"
        if options.kernels and not _fits(kernel if isinstance(kernel, str) else kernel.text(), options.kernels):
            return "no --kernels glob fits"
        if options.signatures and not any(fits_globs(options, signature) for signature in signatures):
            return "no --signatures glob fits"
        return None

    return keep


def fits_globs(options: PlanOptions, signature: Signature) -> bool:
    """Whether a signature is among those that `--signatures` asks for."""
    return not options.signatures or _fits(signature.canonical(), options.signatures)


def _fits(name: str, globs: Iterable[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def _wanted(options: PlanOptions, loaded: LoadedTables) -> tuple[Target, ...] | None:
    """The requested targets and, with `every_count`, those of their archs at every CU count that a row names."""
    if options.targets is None or not options.every_count:
        return options.targets
    archs = {target.gfx for target in options.targets}
    named = {target for target in loaded.targets if target.gfx in archs}
    return tuple(sorted({*options.targets, *named}))


def _targets_of(loaded: LoadedTables, archs: Mapping[str, ArchSpec]) -> tuple[Target, ...]:
    """Every target of a known arch that a row names."""
    return tuple(sorted(target for target in loaded.targets if target.gfx in archs))
