"""The kernels that tuning tables name and ckgen compiles: each name once per arch, with every problem that chose it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ckgen.families.common.device.unit import Use
from ckgen.families.common.rows import Identified
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.rows import GemmRows
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.registry import make_instance
from ckgen.model.arch import ArchSpec
from ckgen.model.diagnostic import Severity
from ckgen.model.errors import InputError
from ckgen.model.tuned_row import TunedRow
from ckgen.plan.examined import unparsable
from ckgen.plan.inputs import load_options
from ckgen.plan.options import PlanOptions
from ckgen.tables.load import load_tables


@dataclass(frozen=True, slots=True)
class NamedKernel:
    """One kernel on one arch: of the tables, or of a kernel set.

    `instance` has the first signature of the first row: out type bf16 before fp16. `uses` are the problems of all rows
    that name it, whatever their fate; `rows` is their number, `signatures` of how many signatures they are: a library
    has one instance for each. Of a set, `rows` is 0, and its one use is run on a device of `cu_num` CUs where that is
    not 0.
    """

    module: str
    library: str
    name: str
    arch: str
    instance: Instance
    uses: tuple[Use, ...]
    rows: int
    signatures: int
    cu_num: int = 0


@dataclass(slots=True)
class _Found:
    signature: GemmSignature
    identified: Identified
    uses: set[Use] = field(default_factory=set)
    signatures: set[GemmSignature] = field(default_factory=set)
    rows: int = 0


def named_kernels(options: PlanOptions, archs: Mapping[str, ArchSpec]) -> tuple[NamedKernel, ...]:
    """Every kernel that the GEMM tables of `options` name for a library that ckgen compiles, by module, name and arch.

    Only `tuning`, `module`, `ops`, `assume_gfx` and the archs of `targets` are looked at. InputError for tables that
    are wrong, names that do not parse among it; rows without a known arch name nothing.
    """
    loaded = load_tables(options.tuning, load_options(options, archs))
    errors = [found for found in loaded.diagnostics if found.severity is Severity.ERROR]
    wanted = None if options.targets is None else {target.gfx for target in options.targets}
    meanings = GemmRows(archs)
    found: dict[tuple[str, str, str, str], _Found] = {}
    for row in (row for row in loaded.of(TunedRow) if row.op == str(Op.GEMM)):
        target = row.target
        if target is None or target.gfx not in archs or not meanings.is_compiled(row):
            continue
        if wanted is not None and target.gfx not in wanted:
            continue
        key = (row.module, row.library, row.kernel, target.gfx)
        kernel = found.get(key)
        if kernel is None:
            identified = meanings.kernel(row)
            if identified is None:
                errors.append(unparsable(row, loaded.place(row), meanings.about_name(row)))
                continue
            _, signatures = meanings.signatures(row)
            kernel = found[key] = _Found(signatures[0], identified)
        kernel.rows += 1
        kernel.signatures.update(meanings.signatures(row)[1])
        kernel.uses.add(Use(row.shape, max(row.k_batch or 1, 1)))
    if errors:
        raise InputError(errors)
    return tuple(_named(*key, found[key]) for key in sorted(found))


def _named(module: str, library: str, name: str, arch: str, found: _Found) -> NamedKernel:
    instance = make_instance(found.signature, found.identified.config, module=module, table_kernel=name, archs=(arch,))
    return NamedKernel(
        module, library, name, arch, instance, tuple(sorted(found.uses)), found.rows, len(found.signatures)
    )
