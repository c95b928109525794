"""LDS atomics, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from lds_support import LANES, SOME, Rows, fresh, lanes_of, step
from numpy.typing import NDArray

pytestmark = pytest.mark.amd


def packed(add: Callable[[Any, Any], Any], to: Callable[[Rows], Any], back: Callable[[Any], Rows]) -> Any:
    def both(old: Any, data: Any, _: Any) -> Any:
        low = back(add(to(old & 0xFFFF), to(data & 0xFFFF)))
        high = back(add(to(old >> 16), to(data >> 16)))
        return low | high << 16

    return both


def to_f16(bits: Rows) -> NDArray[np.float16]:
    return bits.astype(np.uint16).view(np.float16)


def from_f16(values: NDArray[np.float16]) -> Rows:
    return values.view(np.uint16).astype(np.uint32)


def to_bf16(bits: Rows) -> NDArray[np.float32]:
    return (bits << 16).astype(np.uint32).view(np.float32)


def from_bf16(values: NDArray[np.float32]) -> Rows:
    """Nearest even, by exact integers."""
    bits = values.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint32)


def less(left: Any, right: Any, kind: Any) -> NDArray[np.bool_]:
    return np.asarray(left.view(kind) < right.view(kind))


ATOMICS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add_{u}": lambda old, a, b: old + a,
    "sub_{u}": lambda old, a, b: old - a,
    "rsub_{u}": lambda old, a, b: a - old,
    "inc_{u}": lambda old, a, b: np.where(old >= a, 0, old + 1),
    "dec_{u}": lambda old, a, b: np.where((old == 0) | (old > a), a, old - 1),
    "min_{i}": lambda old, a, b: np.where(less(a, old, f"i{old.itemsize}"), a, old),
    "max_{i}": lambda old, a, b: np.where(less(a, old, f"i{old.itemsize}"), old, a),
    "min_{u}": lambda old, a, b: np.minimum(old, a),
    "max_{u}": lambda old, a, b: np.maximum(old, a),
    "and_{b}": lambda old, a, b: old & a,
    "or_{b}": lambda old, a, b: old | a,
    "xor_{b}": lambda old, a, b: old ^ a,
    "mskor_{b}": lambda old, a, b: (old & ~a) | b,
    "cmpst_{b}": lambda old, a, b: np.where(old == a, b, old),
    "cmpst_{f}": lambda old, a, b: np.where(old.view(f"f{old.itemsize}") == a.view(f"f{old.itemsize}"), b, old),
    "min_{f}": lambda old, a, b: np.where(less(a, old, f"f{old.itemsize}"), a, old),
    "max_{f}": lambda old, a, b: np.where(less(old, a, f"f{old.itemsize}"), a, old),
    "add_{f}": lambda old, a, b: (old.view(f"f{old.itemsize}") + a.view(f"f{old.itemsize}")).view(old.dtype),
}
TWO_DATA = ("mskor", "cmpst", "wrap")


def atomic_cases(bits: int) -> dict[str, Callable[[Any, Any, Any], Any]]:
    cases = {
        name.format(u=f"u{bits}", i=f"i{bits}", b=f"b{bits}", f=f"f{bits}"): function
        for name, function in ATOMICS.items()
    }
    cases[f"wrxchg_rtn_b{bits}"] = lambda old, a, b: a
    if bits == 32:
        cases["wrap_rtn_b32"] = lambda old, a, b: np.where(old >= a, old - a, old + b)
        cases["pk_add_f16"] = packed(np.add, to_f16, from_f16)
        cases["pk_add_bf16"] = packed(np.add, to_bf16, from_bf16)
    else:
        top = np.uint64(0x80000000_80000000)

        def exchange(old: Any, a: Any, b: Any) -> Any:
            taken = (a & top) >> np.uint64(31)
            field = taken * np.uint64(0xFFFFFFFF)
            return (old & ~field) | (a & ~top & field)

        cases["condxchg32_rtn_b64"] = exchange
    return cases


def with_return(name: str) -> str:
    stem, kind = name.rsplit("_", 1)
    return name if "_rtn" in name else f"{stem}_rtn_{kind}"


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("mask", [2**LANES - 1, SOME])
@pytest.mark.parametrize("returns", [True, False])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_atomics(bits: int, mask: int, returns: bool) -> None:
    """One address a lane; operands small and equal often enough for every comparison to go both ways."""
    width, kind = bits // 8, np.dtype(f"u{bits // 8}")
    cases = {name: f for name, f in atomic_cases(bits).items() if returns or "_rtn" not in name}
    wave = fresh(6, mask, 65536)
    random = np.random.default_rng(7)
    at = random.permutation(LANES) * width
    wave.vectors[0] = at
    memory = wave.lds.view(kind).reshape(-1, LANES)
    # Numbers that are finite and near each other in every format that the bits may mean.
    pool = random.choice(np.array([0, 1, 2, 3], kind), memory.shape)
    floats = (random.integers(-3, 4, memory.shape) / 2).astype(f"f{width}").view(kind)
    memory[:] = np.where(random.random(memory.shape) < 0.5, pool, floats)
    lines, results = [], []
    datas = memory.reshape(-1)[random.integers(0, memory.size, (2, LANES))].copy()
    datas[0, ::3] |= kind.type(1 << (bits - 1))
    datas[1, ::5] ^= kind.type(0x80003C00)
    per = width // 4
    data = [2, 4]
    for operand, row in zip(datas, data, strict=True):
        for part in range(per):
            wave.vectors[row + part] = (
                (operand >> kind.type(32 * part)).astype(np.uint32) if part else operand.astype(np.uint32)
            )
    for index, (name, function) in enumerate(cases.items()):
        op = with_return(name) if returns else name
        target = 8 + 2 * index

        def register(first: int) -> str:
            return f"v{first}" if per == 1 else f"v[{first}:{first + 1}]"

        operands = [register(target)] if returns else []
        operands += ["v0", register(data[0])]
        if any(part in name for part in TWO_DATA):
            operands.append(register(data[1]))
        lines.append(f"ds_{op} {', '.join(operands)} offset:{index * LANES * width}")
        results.append((name, function, target))
    before, registers = memory.copy(), wave.vectors.copy()
    assert step("\n".join(lines), wave) == ()
    active = lanes_of(mask)
    for index, (name, function, target) in enumerate(results):
        old = before[index][at // width]
        made = np.asarray(function(old, datas[0].copy(), datas[1].copy())).astype(kind)
        found = memory[index][at // width]
        assert np.array_equal(found, np.where(active, made, old)), name
        if returns:
            seen = wave.vectors[target].astype(kind)
            kept = registers[target].astype(kind)
            if per == 2:
                seen |= wave.vectors[target + 1].astype(kind) << kind.type(32)
                kept |= registers[target + 1].astype(kind) << kind.type(32)
            assert np.array_equal(seen, np.where(active, old, kept)), name


def test_atomics_of_one_address_add_up() -> None:
    wave = fresh(8)
    wave.vectors[0] = 64
    wave.vectors[1] = np.arange(LANES)
    wave.lds[64:68] = 0
    assert step("ds_add_rtn_u32 v2, v0, v1", wave) == ()
    assert wave.lds[64:68].view(np.uint32)[0] == 64 * 63 // 2
    assert np.array_equal(wave.vectors[2], np.cumsum(np.arange(LANES)) - np.arange(LANES))


@pytest.mark.parametrize("scale", [1, 64])
@pytest.mark.parametrize("bits", [32, 64])
def test_exchange_of_two(scale: int, bits: int) -> None:
    wave = fresh(9)
    per = bits // 32
    places = np.arange(LANES) * (1 if scale == 64 else 3)
    wave.vectors[0] = places * bits // 8
    memory = wave.lds.view(f"u{bits // 8}")
    before, registers = memory.copy(), wave.vectors.copy()

    def named(first: int, count: int) -> str:
        return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"

    # The destination overlaps the second operand.
    operands = f"{named(4, 2 * per)}, v0, {named(8, per)}, {named(4, per)}"
    op = f"ds_wrxchg2{'st64' if scale == 64 else ''}_rtn_b{bits}"
    assert step(f"{op} {operands} offset0:1 offset1:2", wave) == ()

    def joined(rows: Rows, first: int) -> NDArray[Any]:
        return np.ascontiguousarray(rows[first : first + per].T).view(memory.dtype)[:, 0]

    expected = before.copy()
    expected[places + scale] = joined(registers, 8)
    expected[places + 2 * scale] = joined(registers, 4)
    assert np.array_equal(memory, expected)
    assert np.array_equal(joined(wave.vectors, 4), before[places + scale])
    assert np.array_equal(joined(wave.vectors, 4 + per), before[places + 2 * scale])


def test_atomics_must_be_aligned() -> None:
    wave = fresh(16)
    wave.vectors[0] = np.arange(LANES) * 8 + 4
    assert step("ds_add_u32 v0, v1", wave) == ()
    assert step("ds_add_u64 v0, v[2:3]", wave) == ("misaligned",)
