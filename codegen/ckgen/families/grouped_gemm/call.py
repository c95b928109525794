"""Groups of GEMMs called with tensors: a list of each operand, an entry per group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from ckgen.families.common.call import At, Called, OperationCall, Result, Views, need
from ckgen.families.gemm.call import GemmCall, GemmOptions, operands_of
from ckgen.families.gemm.enums import Op, Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.errors import UsageError
from ckgen.model.groups import Groups, GroupSize
from ckgen.tensors.errors import ShapeMismatch
from ckgen.tensors.view import TensorView

_OF_A_GROUP = ("a", "b", "c", "a_scale", "b_scale", "bias", "lda", "ldb", "ldc")
_OF_ALL = ("alpha", "a_scale_row_major", "mx_scale_shuffled", "a_scale_stride")
_UNLIKE = "a_scale of some groups lies in rows and of others in columns, or their gaps differ: copy them alike"


@dataclass(frozen=True, slots=True)
class _Lines:
    """Lines of a_scale with gaps between them, so many elements from one to the next."""

    are_rows: bool
    apart: int

    @classmethod
    def of(cls, scale: TensorView) -> _Lines | None:
        """None where there are no gaps, or no lines."""
        if len(scale.shape) != 2 or scale.is_contiguous or scale.is_transposed:
            return None
        found = (cls(True, scale.strides[0]), cls(False, scale.strides[1]))
        return next((one for one in found if one.fit(scale)), None)

    def fit(self, scale: TensorView) -> bool:
        """Whether the view's lines lie so."""
        count, length = scale.shape if self.are_rows else scale.shape[::-1]
        apart, inside = scale.strides if self.are_rows else scale.strides[::-1]
        return self.apart >= length and (apart == self.apart or count == 1) and (inside == 1 or length == 1)

    def packed(self, scale: TensorView) -> TensorView:
        """The same without gaps; ShapeMismatch for a view that lies otherwise."""
        if not self.fit(scale):
            raise ShapeMismatch(_UNLIKE)
        rows, blocks = scale.shape
        return replace(scale, strides=(blocks, 1) if self.are_rows else (1, rows))


@dataclass(frozen=True, slots=True)
class GroupedOptions(GemmOptions):
    """Those of a GEMM, and how many groups there are. No D tensors."""

    groups: int = 0


class GroupedCall(OperationCall):
    """C[g] [M_g, N_g] of A[g] [M_g, K_g] and B[g] [K_g, N_g], all of one signature."""

    options_type = GroupedOptions

    def names(self, options: GroupedOptions) -> tuple[str, ...]:
        """Those of every group, all results first: out[0], out[1], …, a[0], …"""
        words = ("out", "a", "b", "a_scale", "b_scale", "bias")
        return tuple(f"{word}[{g}]" for word in words for g in range(_counted(options)))

    def results(self, views: Views, options: GroupedOptions) -> Mapping[str, Result]:
        """Each group's C."""
        return {
            f"out[{g}]": Result((one.m, one.n), one.signature.c)
            for g in range(_counted(options))
            for one in [operands_of(Op.GROUPED_GEMM, views, options, f"[{g}]")]
        }

    def called(self, views: Views, options: GroupedOptions) -> Called:
        """The groups as one launch."""
        lines = _lines_of(views, options)
        found = [_group(views, options, lines, g) for g in range(_counted(options))]
        signatures = {signature for signature, _, _ in found}
        if len(signatures) > 1:
            texts = ", ".join(sorted(one.canonical() for one in signatures))
            raise ShapeMismatch(f"groups of one call are of one signature, and these are of {texts}")
        signature = found[0][0]
        sizes = [size for _, size, _ in found]
        rows = [{name: given[name] for name in _OF_A_GROUP if name in given} for _, _, given in found]
        everyone = [{name: given[name] for name in _OF_ALL if name in given} for _, _, given in found]
        if any(one != everyone[0] for one in everyone):
            raise ShapeMismatch(_UNLIKE)
        given = {
            "operands": rows,
            "sizes": [{"m": size.m, "n": size.n, "k": size.k} for size in sizes],
            "count": len(sizes),
            **everyone[0],
        }
        return Called(signature.canonical(), Groups.of(sizes), given)


def _counted(options: GroupedOptions) -> int:
    if options.groups < 1:
        raise ShapeMismatch("a and b are lists of tensors, one of each group, and there is no group")
    if options.epilogue:
        raise UsageError("epilogue is of one GEMM: groups called with tensors take none")
    return options.groups


def _lines_of(views: Views, options: GroupedOptions) -> _Lines | None:
    """Those of the first a_scale with gaps."""
    scales = (views.get(f"a_scale[{g}]") for g in range(_counted(options)))
    return next((lines for one in scales if one is not None and (lines := _Lines.of(one)) is not None), None)


def _group(
    views: Views, options: GroupedOptions, lines: _Lines | None, g: int
) -> tuple[GemmSignature, GroupSize, Mapping[str, Any]]:
    """One group as a GEMM of its own, whose tensors have the group's names."""
    x = operands_of(Op.GROUPED_GEMM, views, options, f"[{g}]")
    need(views, f"out[{g}]")
    alone = {name.removesuffix(f"[{g}]"): view for name, view in views.items() if name.endswith(f"[{g}]")}
    if x.signature.quant is not Quant.BLOCKSCALE:
        lines = None
    if lines is not None:
        alone["a_scale"] = lines.packed(alone["a_scale"])
    said = x.signature.canonical().removeprefix(f"{Op.GROUPED_GEMM}_")
    given = {field.name: getattr(options, field.name) for field in fields(GemmOptions)}
    called = GemmCall().called(alone, GemmOptions(**given | {"signature": f"{Op.GEMM}_{said}"}))
    named = {
        name: At(f"{value.tensor}[{g}]") if isinstance(value, At) else value for name, value in called.fields.items()
    }
    if lines is not None:
        named |= {"a_scale_row_major": int(lines.are_rows), "a_scale_stride": lines.apart}
    return x.signature, GroupSize(x.m, x.n, x.k), named
