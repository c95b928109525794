"""How the keys of a batch of attention problems are shared among workgroups; see ckgen/fmha_split.hpp."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import byref, c_char_p, c_int32, c_int64, c_uint64, c_void_p
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from ckgen.runtime.abi import Abi

Lengths = Sequence[int] | npt.NDArray[np.int32]


class _ProblemStruct(ctypes.Structure):
    """ckgen_fmha_split_problem."""

    _fields_ = (
        ("size", c_uint64),
        ("seqlen_q", c_void_p),
        ("seqlen_k", c_void_p),
        ("batch", c_int32),
        ("heads_q", c_int32),
        ("heads_k", c_int32),
        ("hdim_v", c_int32),
        ("merge_heads", c_int32),
        ("m0", c_int32),
        ("n0", c_int32),
        ("page_size", c_int32),
        ("masked", c_int32),
        ("corner", c_int32),
        ("window_left", c_int32),
        ("window_right", c_int32),
        ("sink_tokens", c_int32),
        ("cu_num", c_int32),
        ("occupancy", c_int32),
        ("max_splits", c_int32),
        ("max_workgroups", c_int64),
        ("fixed_split_size", c_int32),
        ("no_split", c_int32),
        ("cost_item_row", c_int32),
        ("cost_partial_row", c_int32),
        ("workgroup_heads", c_int32),
    )


class _SizesStruct(ctypes.Structure):
    """ckgen_fmha_split_sizes."""

    _fields_ = (
        ("size", c_uint64),
        ("items", c_int64),
        ("combine_items", c_int64),
        ("partial_rows", c_int64),
        ("max_splits", c_int32),
        ("heads", c_int32),
    )


class _ArraysStruct(ctypes.Structure):
    """ckgen_fmha_split_arrays."""

    _fields_ = (
        ("size", c_uint64),
        ("items", c_void_p),
        ("item_room", c_int64),
        ("combine_items", c_void_p),
        ("combine_room", c_int64),
        ("splits", c_void_p),
        ("o_indptr", c_void_p),
    )


class _SliceStruct(ctypes.Structure):
    """ckgen_fmha_split_slice."""

    _fields_ = (("name", c_char_p), ("offset", c_int64), ("bytes", c_int64), ("zero", c_int32), ("reserved", c_int32))


_SLICES = 6
ITEM: np.dtype[Any] = np.dtype(
    [(name, np.int32) for name in ("request", "q_tile", "split", "splits", "kv_begin", "kv_end")]
    + [("partial_row", np.int64)]
)
"""ckgen_fmha_split_item; request -1 is padding."""
COMBINE_ITEM: np.dtype[Any] = np.dtype(
    [(name, np.int32) for name in ("request", "q_tile", "splits", "rows")] + [("partial_row", np.int64)]
)
"""ckgen_fmha_combine_item; request -1 is padding."""


@dataclass(frozen=True, slots=True)
class FmhaSplitCost:
    """Columns that a row of a tile attends to in the same time: of any item, and more of one of several splits."""

    item_row: int
    partial_row: int


@dataclass(frozen=True, slots=True)
class FmhaSplitProblem:
    """ckgen::FmhaSplitProblem without the lengths. What is None is the library's default."""

    heads_q: int
    heads_k: int
    hdim_v: int
    m0: int
    n0: int
    cu_num: int
    occupancy: int = 1
    merge_heads: bool = False
    workgroup_heads: int = 1
    page_size: int = 0
    masked: bool = False
    top_left: bool = False
    window_left: int = -1
    window_right: int = 0
    sink_tokens: int = 0
    max_splits: int | None = None
    max_workgroups: int | None = None
    fixed_split_size: int = 0
    no_split: bool = False
    cost: FmhaSplitCost | None = None


@dataclass(frozen=True, slots=True)
class FmhaSplitSizes:
    """ckgen::FmhaSplitSizes: of one head, but for `heads`."""

    items: int
    combine_items: int
    partial_rows: int
    max_splits: int
    heads: int


@dataclass(frozen=True, slots=True)
class FmhaSplitSlice:
    """A part of a workspace, in bytes; `zero`: it must be zero before the kernels start."""

    name: str
    offset: int
    bytes: int
    zero: bool


@dataclass(frozen=True, slots=True)
class FmhaSplitPlan:
    """`sizes` are the plan's own; entries of the arrays behind them are padding."""

    sizes: FmhaSplitSizes
    items: npt.NDArray[np.void]  # of ITEM
    combine_items: npt.NDArray[np.void]  # of COMBINE_ITEM
    splits: npt.NDArray[np.int32]  # [batch]
    o_indptr: npt.NDArray[np.int64]  # [batch + 1]


class FmhaSplitPlanner:
    """The planner of a loaded library; no state. RuntimeFailure names the field that a problem is refused for."""

    def __init__(self, abi: Abi) -> None:
        self._abi = abi

    @property
    def cost(self) -> FmhaSplitCost:
        """The library's default."""
        default = self._defaults()
        return FmhaSplitCost(default.cost_item_row, default.cost_partial_row)

    def count(self, problem: FmhaSplitProblem, seqlen_q: Lengths, seqlen_k: Lengths) -> FmhaSplitSizes:
        """What the plan of this batch needs."""
        q, k = _lengths(seqlen_q, seqlen_k)
        found = _sizes()
        self._abi.call("fmha_split_count", byref(self._struct(problem, len(q), q, k)), byref(found))
        return _read(found)

    def bound(
        self, problem: FmhaSplitProblem, batch: int, max_seqlen_q: int, max_seqlen_k: int, max_total_q: int = 0
    ) -> FmhaSplitSizes:
        """What no plan of a batch within the maxima exceeds; max_total_q 0: batch * max_seqlen_q."""
        found = _sizes()
        given = byref(self._struct(problem, batch))
        self._abi.call("fmha_split_bound", given, max_seqlen_q, max_seqlen_k, max_total_q, byref(found))
        return _read(found)

    def plan(
        self, problem: FmhaSplitProblem, seqlen_q: Lengths, seqlen_k: Lengths, room: FmhaSplitSizes | None = None
    ) -> FmhaSplitPlan:
        """In arrays of `room`; without it, of the plan's own sizes."""
        q, k = _lengths(seqlen_q, seqlen_k)
        given = self.count(problem, q, k) if room is None else room
        items, combine = np.empty(given.items, ITEM), np.empty(given.combine_items, COMBINE_ITEM)
        splits, indptr = np.empty(len(q), np.int32), np.empty(len(q) + 1, np.int64)
        arrays = _ArraysStruct(
            size=ctypes.sizeof(_ArraysStruct),
            items=items.ctypes.data,
            item_room=len(items),
            combine_items=combine.ctypes.data,
            combine_room=len(combine),
            splits=splits.ctypes.data,
            o_indptr=indptr.ctypes.data,
        )
        found = _sizes()
        self._abi.call("fmha_split_plan", byref(self._struct(problem, len(q), q, k)), byref(arrays), byref(found))
        return FmhaSplitPlan(_read(found), items, combine, splits, indptr)

    def workspace(self, sizes: FmhaSplitSizes, batch: int, hdim_v: int) -> tuple[tuple[FmhaSplitSlice, ...], int]:
        """The slices of a device's memory for a plan of these sizes, and all bytes."""
        slices, total = (_SliceStruct * _SLICES)(), c_int64()
        given = _SizesStruct(
            size=ctypes.sizeof(_SizesStruct),
            items=sizes.items,
            combine_items=sizes.combine_items,
            partial_rows=sizes.partial_rows,
            max_splits=sizes.max_splits,
            heads=sizes.heads,
        )
        self._abi.call("fmha_split_workspace", byref(given), batch, hdim_v, slices, byref(total))
        found = tuple(FmhaSplitSlice(s.name.decode(), s.offset, s.bytes, bool(s.zero)) for s in slices)
        return found, total.value

    def _defaults(self) -> _ProblemStruct:
        made = _ProblemStruct(size=ctypes.sizeof(_ProblemStruct))
        self._abi.call("fmha_split_defaults", byref(made))
        return made

    def _struct(
        self,
        problem: FmhaSplitProblem,
        batch: int,
        q: npt.NDArray[np.int32] | None = None,
        k: npt.NDArray[np.int32] | None = None,
    ) -> _ProblemStruct:
        made = self._defaults()
        made.batch = batch
        if q is not None and k is not None:
            made.seqlen_q, made.seqlen_k = q.ctypes.data, k.ctypes.data
        for field in fields(problem):
            value = getattr(problem, field.name)
            if field.name == "top_left":
                made.corner = int(not value)
            elif isinstance(value, FmhaSplitCost):
                made.cost_item_row, made.cost_partial_row = value.item_row, value.partial_row
            elif value is not None:
                setattr(made, field.name, int(value))
        return made


def _lengths(q: Lengths, k: Lengths) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    if len(q) != len(k):
        raise ValueError(f"{len(q)} lengths of queries, {len(k)} of keys")
    return np.ascontiguousarray(q, np.int32), np.ascontiguousarray(k, np.int32)


def _sizes() -> _SizesStruct:
    return _SizesStruct(size=ctypes.sizeof(_SizesStruct))


def _read(found: _SizesStruct) -> FmhaSplitSizes:
    return FmhaSplitSizes(found.items, found.combine_items, found.partial_rows, found.max_splits, found.heads)
