"""What a row of a table of attention means: its kernel's name tells signature, Config and Backend."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace

from ckgen.families.common.problem_finding import ProblemFinding
from ckgen.families.common.rows import Advice, Identified, RowMeanings
from ckgen.families.fmha.constraints import constraints_of
from ckgen.families.fmha.cost import mean_columns, products
from ckgen.families.fmha.enums import FmhaEntry, FmhaTraits
from ckgen.families.fmha.grammar import AnyFmhaConfig, parse_instance_name
from ckgen.families.fmha.measured import fmha_key
from ckgen.families.fmha.problem import check_problem, has_lengths, supports
from ckgen.families.fmha.signature import OP, FmhaSignature
from ckgen.model.arch import ArchSpec
from ckgen.model.errors import UsageError
from ckgen.model.fmha_row import FmhaRow
from ckgen.model.fmha_shape import FmhaShape
from ckgen.tables.read import quoted


class FmhaRows(RowMeanings[FmhaRow, FmhaSignature]):
    """Rows of attention."""

    def __init__(self, archs: Mapping[str, ArchSpec]) -> None:
        super().__init__(archs)
        self._named: dict[str, tuple[FmhaSignature, Identified] | None] = {}

    def signature_key(self, row: FmhaRow) -> Hashable:
        """The name, and what must agree with it."""
        return row.kernel, row.direction, row.masked, bool(row.shape.page_size)

    def meaning(self, row: FmhaRow) -> tuple[FmhaSignature, ...]:
        """The kernel's; UsageError for a row whose columns are not of it."""
        named = self._of_name(row)
        if named is None:
            return ()
        if (mismatch := _mismatch(named[0].traits, row)) is not None:
            raise UsageError(mismatch)
        return (named[0],)

    def sizes_key(self, row: FmhaRow) -> tuple[object, ...]:
        """What tells rungs apart."""
        named = self._of_name(row)
        assert named is not None
        return fmha_key(named[0].traits, row.shape)

    def is_generated(self, row: FmhaRow) -> bool:
        """All are: their names are those of instances."""
        return True

    def kernel(self, row: FmhaRow) -> Identified | None:
        """What the instance's name spells; None for a name that no instance has."""
        named = self._of_name(row)
        return named[1] if named is not None else None

    def table_kernel(self, row: FmhaRow) -> str:
        """None: the name is an instance's."""
        return ""

    def about_name(self, row: FmhaRow) -> Advice:
        """The name, and where names stand."""
        return Advice((f"kernelName {quoted(row.kernel)}",), f"see `ckgen list instances --ops {OP}` for names")

    def about_types(self, row: FmhaRow) -> Advice:
        """The same."""
        return self.about_name(row)

    def about_contradiction(self, first: FmhaRow, second: FmhaRow) -> Advice:
        """Both kernels."""
        return Advice((f"{first.target}: {first.kernel} / {second.kernel}",), "keep one")

    def rank(self, row: FmhaRow) -> tuple[float, ...]:
        """The first of the last layer: rows of one key and kernel are alike."""
        return (-row.layer,)

    def operations(self, row: FmhaRow, signature: FmhaSignature) -> int | None:
        """Of its products; what varlen and pages hold is not known."""
        shape, traits = row.shape, signature.traits
        if has_lengths(traits):
            return None
        scores = shape.batch * shape.heads_q * shape.seqlen_q * mean_columns(traits, shape)
        of_q, of_v = products(traits)
        return 2 * scores * (of_q * shape.hdim_q + of_v * shape.hdim_v)

    def broken(self, row: FmhaRow, number: int, signature: FmhaSignature, kernel: Identified) -> ProblemFinding | None:
        """The first rule of the problem, or demand of the kernel."""
        assert isinstance(kernel.config, AnyFmhaConfig)
        shape, splits = _promised(row.shape), row.k_batch or 1
        constraints = constraints_of(signature, kernel.config)
        return check_problem(signature, shape) or supports(constraints, signature.traits, shape, splits)

    def _of_name(self, row: FmhaRow) -> tuple[FmhaSignature, Identified] | None:
        if row.kernel not in self._named:
            found = parse_instance_name(row.kernel)
            self._named[row.kernel] = (found[0], Identified(found[2], found[1])) if found is not None else None
        return self._named[row.kernel]


def _mismatch(traits: FmhaTraits, row: FmhaRow) -> str | None:
    """Where a row's columns are not of its kernel's signature."""
    if traits.entry is FmhaEntry.APPEND:
        return "tables are of attention forward and backward, not of append"
    if row.direction is not traits.entry:
        kernel, said = (("bwd", "fwd"), ("fwd", "bwd"))[traits.entry is FmhaEntry.FORWARD]
        return f"the kernel is of direction {kernel}, the row of {said}"
    if row.masked != traits.masked:
        whose, other = ("kernel", "row") if traits.masked else ("row", "kernel")
        return f"the {whose} has a mask, the {other} none"
    if bool(row.shape.page_size) != traits.is_paged:
        return "page_size goes with blocktable and pagelist, and with nothing else"
    return None


def _promised(shape: FmhaShape) -> FmhaShape:
    """With all that a caller may promise beside the sizes of a row."""
    return replace(shape, pages=1 if shape.page_size else 0, min_seqlen_k=1, finite_kv=bool(shape.page_size))
