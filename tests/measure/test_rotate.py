"""Operands at several places: whole, and nothing of one set is another's."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ckgen.families.gemm.signature import parse_canonical
from ckgen.fuzz.case import Case
from ckgen.fuzz.gemm import GemmWork
from ckgen.fuzz.grouped import GroupedWork
from ckgen.measure import rotate
from ckgen.measure.rotate import bytes_of, placings, sets_by_bytes
from ckgen.model.groups import GroupSize
from ckgen.model.tuned_row import Shape
from ckgen.runtime.grouped import GroupOperandsStruct

SIZES = (GroupSize(3, 8, 16), GroupSize(0, 8, 8), GroupSize(5, 4, 32))


def decision(name: str, shape: Shape | None = None) -> Any:
    return SimpleNamespace(signature=parse_canonical(name), query=SimpleNamespace(shape=shape))


def bytes_at(address: int, count: int) -> bytes:
    return bytes((ctypes.c_uint8 * count).from_address(address))


def test_copies_of_a_gemm_hold_the_same_elsewhere() -> None:
    name, shape = "gemm_int8_bf16_rcr_rowwise", Shape(0, 3, 8, 16)
    given = GemmWork(Case(name, "gfx942:304", m=3, n=8, k=16), decision(name, shape)).given(None, 0, 1)  # type: ignore[arg-type]
    found = placings(given, 3)
    assert bytes_of(given) == 3 * 16 + 8 * 16 + 3 * 8 * 2 + (3 + 8) * 4
    for pointer, size in (("a", 48), ("b", 128), ("a_scale", 12), ("b_scale", 32)):
        places = [getattr(one.args, pointer) for one in found]
        assert len({*places}) == 3 and len({bytes_at(place, size) for place in places}) == 1
    assert len({one.args.c for one in found}) == 3
    assert {(one.args.m, one.args.lda, one.args.alpha) for one in found} == {(3, 16, given.args.alpha)}


def test_copies_of_groups_have_arrays_of_their_own() -> None:
    name = "grouped_gemm_fp32_rcr"
    given = GroupedWork(Case(name, "gfx942:304", groups=SIZES), decision(name)).given(None, 0, 1)  # type: ignore[arg-type]
    found = placings(given, 2)
    operands = [(GroupOperandsStruct * len(SIZES)).from_address(one.args.operands) for one in found]
    for at, size in enumerate(SIZES):
        for pointer, count in (("a", size.m * size.k), ("b", size.n * size.k)):
            one, other = (getattr(each[at], pointer) for each in operands)
            assert (one is None) == (other is None) == (not size.m)
            assert one is None or (one != other and bytes_at(one, 4 * count) == bytes_at(other, 4 * count))


def test_what_is_timed_beside_another_reads_the_same_memory_and_writes_its_own() -> None:
    name, shape = "gemm_int8_bf16_rcr_rowwise", Shape(0, 3, 8, 16)
    one, same, other = (
        GemmWork(Case(name, "gfx942:304", m=3, n=8, k=16, seed=seed), decision(name, shape)).given(None, 0, 1)  # type: ignore[arg-type]
        for seed in (1, 1, 2)
    )
    beside = placings(one, 2)
    for at, found in enumerate(placings(same, 3, beside)):
        for pointer in ("a", "b", "a_scale", "b_scale"):
            place = getattr(found.args, pointer)
            assert (place in {getattr(each.args, pointer) for each in beside}) == (at < 2)
        assert found.args.c not in {each.args.c for each in beside}
    apart = placings(other, 2, beside)
    assert not {each.args.a for each in apart} & {each.args.a for each in beside}, "it holds something else"


def test_what_stays_in_the_cache_is_hot_and_all_else_cold() -> None:
    assert [sets_by_bytes(size, 1000) for size in (1, 500, 501, 1000, 3000, 5000)] == [1, 1, 6, 3, 1, 1]


def test_a_flush_touches_more_than_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotate, "last_level_cache", lambda: 1 << 12)
    made: list[int] = []
    monkeypatch.setattr(rotate.np, "zeros", lambda count, dtype: made.append(count * 8) or np.ones(count, dtype))
    rotate.flusher()()
    assert made == [2 << 12]
