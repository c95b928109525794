"""One grouped GEMM on this CPU: what `select` takes against torch, in groups of like and of unlike N and K."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from ours import Ours, address, numbers
from support import Row, Run, main

from ckgen.measure.peers import torch_cpu as peers
from ckgen.measure.timing import Body
from ckgen.model.dtype import DType
from ckgen.model.groups import Groups, GroupSize
from ckgen.runtime.grouped import GroupedArgsStruct, GroupOperandsStruct, GroupSizeStruct

_COUNT, _MOST, _N, _K = 64, 128, 256, 256
_DTYPES = {"bf16": DType.BF16, "fp16": DType.FP16}


def sizes(*, like: bool) -> list[GroupSize]:
    """Few groups have most of the rows, in no order; N and K are halved for some where they are unlike."""
    found = []
    for index in range(_COUNT):
        at = index * 37 % _COUNT
        halves = (1, 1) if like else (2 if at % 3 == 0 else 1, 2 if at % 5 == 0 else 1)
        found.append(GroupSize(max(1, _MOST // (1 + at // 4)), _N // halves[0], _K // halves[1]))
    return found


class Operands:
    """Memory of all groups: A and C without gaps, so that those of like N and K are one matrix each."""

    def __init__(self, dtype: DType, groups: list[GroupSize]) -> None:
        self.groups = groups
        self.a, self.b, self.c = (
            [whole[end - count : end] for count, end in zip(counts, np.cumsum(counts), strict=True)]
            for counts in ([g.m * g.k for g in groups], [g.n * g.k for g in groups], [g.m * g.n for g in groups])
            for whole in (numbers(dtype, sum(counts)).copy(),)
        )

    def args(self) -> tuple[GroupedArgsStruct, object]:
        """What ckgen reads, and what must live as long."""
        each = (GroupOperandsStruct * len(self.groups))(
            *(
                GroupOperandsStruct(a=address(a), b=address(b), c=address(c), lda=g.k, ldb=g.k, ldc=g.n)
                for g, a, b, c in zip(self.groups, self.a, self.b, self.c, strict=True)
            )
        )
        told = (GroupSizeStruct * len(self.groups))(*(GroupSizeStruct(g.m, g.n, g.k) for g in self.groups))
        at = {"operands": ctypes.addressof(each), "sizes": ctypes.addressof(told)}
        return GroupedArgsStruct(**at, count=len(self.groups), alpha=1.0), (each, told)

    def loop(self) -> Any:
        """A product of torch for each group."""
        triples = [
            (matrix(a, g.m, g.k), matrix(b, g.n, g.k).t(), matrix(c, g.m, g.n))
            for g, a, b, c in zip(self.groups, self.a, self.b, [c.copy() for c in self.c], strict=True)
        ]
        mm = peers.torch().mm

        def call() -> None:
            for a, b, c in triples:
                mm(a, b, out=c)

        return call

    def grouped(self) -> Any:
        """torch's own grouped product, which allocates C."""
        if len({(g.n, g.k) for g in self.groups}) > 1:
            raise ValueError("grouped_mm has one N and K for all groups")
        module, count = peers.torch(), len(self.groups)
        a = module.cat([matrix(a, g.m, g.k) for g, a in zip(self.groups, self.a, strict=True)])
        b = module.stack([matrix(b, g.n, g.k) for g, b in zip(self.groups, self.b, strict=True)]).transpose(1, 2)
        ends = module.tensor([g.m for g in self.groups], dtype=module.int32).cumsum(0, dtype=module.int32)
        assert len(ends) == count
        return lambda: module.nn.functional.grouped_mm(a, b, offs=ends)

    def check(self) -> None:
        """RuntimeError where a group is not what torch computes."""
        for g, a, b, c in zip(self.groups, self.a, self.b, self.c, strict=True):
            wanted = matrix(a, g.m, g.k).float() @ matrix(b, g.n, g.k).float().t()
            if not peers.differ(c.reshape(g.m, g.n), wanted) < 0.02:
                raise RuntimeError(f"group {g}: the results differ")


def matrix(values: npt.NDArray[Any], rows: int, columns: int) -> Any:
    """As torch sees it."""
    return peers.tensor(values.reshape(rows, columns))


def rows(run: Run) -> Iterator[Row]:
    """A row for each type and kind of groups."""
    cases = {f"{name}-{kind}": (name, kind) for kind in ("like", "unlike") for name in _DTYPES}
    chosen = {name: case for name, case in cases.items() if run.wants(name)}
    if not chosen:
        return
    ours = Ours(run, (f"grouped_gemm_{dtype}_rcr" for dtype, _ in chosen.values()), ("grouped_gemm",))
    for name, (dtype, kind) in chosen.items():
        operands = Operands(_DTYPES[dtype], sizes(like=kind == "like"))
        signature = f"grouped_gemm_{dtype}_rcr"
        args, kept = operands.args()
        problem = ours.library.grouped_problem(signature, Groups.of(operands.groups))
        selected = ours.ready(problem, args)
        selected.call()
        if peers.torch() is not None:
            operands.check()
        others = peers.offered("torch grouped_mm", operands.grouped)
        others |= peers.offered("torch mm, out=, by group", operands.loop)
        shape = f"{_COUNT} groups of up to {_MOST} × {_N} × {_K}, {kind} N and K"
        yield run.measure(
            name, f"grouped product, {signature}", shape, Body((selected.call,)), others, kernel=selected.kernel
        )
        del kept


if __name__ == "__main__":
    main(rows, __doc__)
