"""A mixture-of-experts layer, or a part of one, as a caller of the dispatcher has it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ckgen.families.common.comparison import Comparison, Wrong, compare
from ckgen.families.common.sensitivity import Sensitivity
from ckgen.families.common.storage import Values, encode
from ckgen.families.gemm.enums import MoePart, Quant
from ckgen.families.gemm.reference import shuffle_mx_scale
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.exact_operands import exact_operands
from ckgen.families.moe.reference import MoeSize, Weights, expect, make_operands
from ckgen.model.dtype import DType
from ckgen.runtime import ProblemStruct, RuntimeLibrary
from ckgen.runtime.moe import MoeArgsStruct, SortedTokensStruct
from ckgen_emulator.gemm.memory import Buffers
from ckgen_emulator.gemm.problem import Data, GemmProblem, ScaleOrder

_Array = npt.NDArray[Any]


class MoeCall:
    """See Call. A layer gives the routing as ids; a part is sorted on the host in the problem's block_m."""

    def __init__(self, signature: GemmSignature, problem: GemmProblem) -> None:
        self.signature, self.problem = signature, problem
        shape = problem.shape
        make = make_operands if problem.data is Data.RANDOM else exact_operands
        self.operands = make(signature, MoeSize(shape.m, shape.n, shape.k, problem.routing), problem.seed)
        self.expected = expect(self.operands, adds_in_c=True)
        self.c: _Array = np.zeros(0)
        self._sorted: tuple[_Array, ...] = ()

    def asked(self, library: RuntimeLibrary) -> ProblemStruct:
        """See Call."""
        shape, routing, block_m = self.problem.shape, self.problem.routing, self.problem.block_m
        if block_m:
            capacity = library.sorted_capacity(shape.m, routing, block_m)
            self._sorted = (
                np.zeros(capacity, np.int32), np.zeros(capacity, np.float32), np.zeros(capacity // block_m, np.int32),
                np.zeros(2, np.int32),
            )  # fmt: skip
            places = (one.ctypes.data for one in self._sorted)
            ids, weights = self.operands.ids.ctypes.data, self.operands.weights.ctypes.data
            library.sort_tokens(ids, weights, shape.m, routing, block_m, SortedTokensStruct(*places))
        return library.problem(self.signature.canonical(), shape.m, shape.n, shape.k, routing=routing, block_m=block_m)

    def arguments(self, to: Buffers, order: ScaleOrder) -> MoeArgsStruct:
        """See Call."""
        shape, ops = self.problem.shape, self.operands
        self.c = encode(np.zeros(self.expected.c.shape), self.signature.c)
        self.c.view(np.uint8)[...] = 0xFF
        args = MoeArgsStruct(
            a=to.give(ops.bytes_of_a()),
            **self._weights("w1", ops.w1, to, order),
            **self._weights("w2", ops.w2, to, order),
            c=to.result(self.c),
            a_scale=to.give(self._scale_of_a(order)),
            tokens=shape.m,
            lda=shape.k,
            ldc=shape.k if self.signature.moe.part is MoePart.LAYER else shape.n,
            a_scale_row_major=int(order.a_row_major),
            mx_scale_shuffled=int(order.mx_shuffled),
        )
        if self._sorted:
            args.sorted = SortedTokensStruct(*(to.give(one) for one in self._sorted))
        else:
            args.topk_ids, args.topk_weights = to.give(ops.ids), to.give(ops.weights)
        return args

    def compared(self) -> Comparison:
        """See Call."""
        expected = replace(self.expected, c=self.expected.c[None], bound=self.expected.bound[None])
        return compare(expected, self.c)

    def element(self, wrong: Wrong) -> tuple[_Array, int]:
        """See Call."""
        width = self.c.shape[-1]
        return self.c, wrong.row * width + wrong.column

    def sensitivity(self) -> Sensitivity:
        """See Call."""
        return self.expected.sensitivity

    def _weights(self, name: str, weights: Weights | None, to: Buffers, order: ScaleOrder) -> dict[str, int | None]:
        if weights is None:
            return {}
        scale = self._stored(weights.scales)
        if scale is not None and order.mx_shuffled:
            scale = shuffle_mx_scale(scale)
        return {name: to.give(self.operands.bytes_of(weights)), f"{name}_scale": to.give(scale)}

    def _scale_of_a(self, order: ScaleOrder) -> _Array | None:
        """Of mx in the order of A's rows, or of the sorted ones, which is none where the caller has not sorted."""
        scale = self._stored(self.operands.a_scale)
        if scale is None or self.signature.quant not in (Quant.BLOCKSCALE, Quant.MX):
            return scale
        if self.signature.quant is Quant.BLOCKSCALE:
            return scale if order.a_row_major else np.ascontiguousarray(scale.T)
        if not order.a_row_major:
            if not self._sorted:
                return None
            token, slot = self._sorted[0] & 0xFFFFFF, self._sorted[0] >> 24
            top_k = self.problem.routing.top_k
            row = np.where(slot < top_k, token * top_k + slot if self._is_down else token, 0)
            ones = encode(np.ones((1, scale.shape[1])), DType.E8M0)
            scale = np.where((slot < top_k)[:, None], scale[row], ones)
        return shuffle_mx_scale(scale[None]) if order.mx_shuffled else scale

    @property
    def _is_down(self) -> bool:
        return self.signature.moe.part is MoePart.DOWN

    def _stored(self, values: Values | None) -> _Array | None:
        return None if values is None or self.signature.scale is None else encode(values, self.signature.scale)
