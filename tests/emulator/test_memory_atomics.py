"""Atomics on memory against numpy."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from memory_support import area, lanes_of, rules, run, set_addresses, set_resource, wave
from numpy.typing import NDArray
from step_support import assemble, emulator

from ckgen_emulator.bindings import LANES, Options

pytestmark = pytest.mark.amd

ARCH = "gfx950"  # has all of them
Values = NDArray[Any]


def bf16_sum(a: Values, b: Values) -> Values:
    """Sums in float64, rounded to bf16's 8 bits, nearest even."""
    wide = [(values.astype(np.uint32) << 16).view(np.float32).astype(np.float64) for values in (a, b)]
    exact = wide[0] + wide[1]
    _, exponent = np.frexp(exact)
    unit = np.ldexp(1.0, np.maximum(exponent, -125) - 8)
    rounded: Values = (np.round(exact / unit) * unit).astype(np.float32).view(np.uint32) >> 16
    return rounded.astype(np.uint16)


def pairs(sum_of: Callable[[Values, Values], Values]) -> Callable[[Values, Values], Values]:
    """The same for both halves of dwords."""
    return lambda a, b: sum_of(a.view(np.uint16), b.view(np.uint16)).view(np.uint32)


INTEGER: dict[str, Callable[[Values, Values, type, type], Values]] = {
    "swap": lambda a, b, u, s: b,
    "add": lambda a, b, u, s: a + b,
    "sub": lambda a, b, u, s: a - b,
    "smin": lambda a, b, u, s: np.minimum(a.view(s), b.view(s)).view(u),
    "umin": lambda a, b, u, s: np.minimum(a, b),
    "smax": lambda a, b, u, s: np.maximum(a.view(s), b.view(s)).view(u),
    "umax": lambda a, b, u, s: np.maximum(a, b),
    "and": lambda a, b, u, s: a & b,
    "or": lambda a, b, u, s: a | b,
    "xor": lambda a, b, u, s: a ^ b,
    "inc": lambda a, b, u, s: np.where(a >= b, 0, a + u(1)).astype(u),
    "dec": lambda a, b, u, s: np.where((a == 0) | (a > b), b, a - u(1)),
}
FLOAT: dict[str, tuple[type, Callable[[Values, Values], Values]]] = {
    "add_f32": (np.uint32, lambda a, b: (a.view(np.float32) + b.view(np.float32)).view(np.uint32)),
    "add_f64": (np.uint64, lambda a, b: (a.view(np.float64) + b.view(np.float64)).view(np.uint64)),
    "min_f64": (np.uint64, lambda a, b: np.where(b.view(np.float64) < a.view(np.float64), b, a)),
    "max_f64": (np.uint64, lambda a, b: np.where(b.view(np.float64) > a.view(np.float64), b, a)),
    "pk_add_f16": (np.uint32, pairs(lambda a, b: (a.view(np.float16) + b.view(np.float16)).view(np.uint16))),
    "pk_add_bf16": (np.uint32, pairs(bf16_sum)),
}


SPACES = ("global", "flat", "buffer")


def line(space: str, name: str, returns: bool) -> str:
    """The operation on v20 ff., its addresses in v4 or v[2:3]."""
    rows = 2 if name.endswith(("x2", "f64")) else 1
    count = rows * (2 if "cmpswap" in name else 1)
    data = "v20" if count == 1 else f"v[20:{19 + count}]"
    target = ("v30, " if rows == 1 else "v[30:31], ") * returns
    if space == "buffer":
        return f"buffer_atomic_{name} {data}, v4, s[8:11], 0 offen" + " sc0" * returns
    return f"{space}_atomic_{name} {target}v[2:3], {data}" + ", off" * (space == "global") + " sc0" * returns


@cache
def encoded() -> dict[str, bytes]:
    """All of them, assembled at once; each has eight bytes."""
    names = [*INTEGER, *(f"{name}_x2" for name in INTEGER), "cmpswap", "cmpswap_x2", *FLOAT]
    lines = [line(space, name, returns) for space in SPACES for name in names for returns in (True, False)]
    code = assemble("\n".join(lines), ARCH)
    assert len(code) == 8 * len(lines)
    return {text: code[8 * at : 8 * at + 8] for at, text in enumerate(lines)}


def integers(bits: int, seed: int) -> Values:
    """Random values, and the ends of the range."""
    kind = np.uint32 if bits == 32 else np.uint64
    made = np.random.default_rng(seed).integers(0, 2**bits, LANES, kind)
    made[:8] = [0, 1, 2**bits - 1, 2 ** (bits - 1), 2 ** (bits - 1) - 1, 5, 0, 7]
    return np.roll(made, 3 * seed)


def floats(name: str, kind: type, seed: int) -> Values:
    """Random numbers of the operation's type with denormals and both zeros; no NaN."""
    random = np.random.default_rng(seed).normal(size=2 * LANES) * 10.0
    random[:6] = [0.0, -0.0, 1e-40, -1e-40, 65000.0, 3e-8]
    random = np.roll(random, 2 * seed)
    if name.endswith("bf16"):
        return (random.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint32)
    target = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[name[-3:]]
    return random[: LANES * (2 if name.startswith("pk") else 1)].astype(target).view(kind)


def check(space: str, name: str, old: Values, data: Values, expected: Values, compare: Values | None = None) -> None:
    """Runs one operation with and without return, on lanes that are on."""
    mask = 0xFFFF_00FF_FFFF_FF7F
    on = lanes_of(mask)
    size = old.itemsize
    rows = size // 4
    for returns in (True, False):
        with area(ARCH, LANES * size) as memory:
            memory.bytes[:] = old.view(np.uint8)
            state = wave()
            at = (np.arange(LANES) * 5 % LANES).astype(np.int64)
            for first, values in ((20, data), (20 + rows, compare)):
                if values is not None:
                    state.vectors[first : first + rows] = values.view(np.uint32).reshape(LANES, rows).T
            state.vectors[4] = at * size
            state.exec_mask = mask
            before = state.vectors[30 : 30 + rows].copy()
            set_resource(state, 8, memory.address, LANES * size)
            set_addresses(state, 2, (memory.address + at * size).astype(np.uint64))
            text = line(space, name, returns)
            result = emulator(ARCH).step(encoded()[text], state, Options())
            assert not result.findings, (text, result.findings)
            after = old.copy()
            after[at[on]] = expected[on]
            np.testing.assert_array_equal(memory.bytes.view(old.dtype), after, text)
            if returns:
                first = 20 if space == "buffer" else 30
                got = state.vectors[first : first + rows].T.copy().view(old.dtype).ravel()
                np.testing.assert_array_equal(got[on], old[at][on], text)
            if space != "buffer":
                np.testing.assert_array_equal(state.vectors[30 : 30 + rows, ~on], before[:, ~on])
            assert result.counts["atomics"] == mask.bit_count()


def spread(old: Values) -> Values:
    """What each lane finds at its place."""
    return old[np.arange(LANES) * 5 % LANES]


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("name", INTEGER)
def test_integers(name: str, bits: int) -> None:
    unsigned, signed = (np.uint32, np.int32) if bits == 32 else (np.uint64, np.int64)
    old, data = integers(bits, 1), integers(bits, 2)
    data[10:20] = spread(old)[10:20]
    for space in SPACES:
        check(
            space, name + ("_x2" if bits == 64 else ""), old, data, INTEGER[name](spread(old), data, unsigned, signed)
        )


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("bits", [32, 64])
def test_compare_and_swap(space: str, bits: int) -> None:
    """The data is the new value, then the one to compare with."""
    old, data = integers(bits, 1), integers(bits, 2)
    compare = np.where(np.arange(LANES) % 2 == 0, spread(old), spread(old) + old.dtype.type(1))
    expected = np.where(compare == spread(old), data, spread(old))
    check(space, "cmpswap" + ("_x2" if bits == 64 else ""), old, data, expected, compare)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", FLOAT)
def test_floats(name: str, space: str) -> None:
    kind, made = FLOAT[name]
    old, data = floats(name, kind, 1), floats(name, kind, 2)
    check(space, name, old, data, made(spread(old), data))


def test_lanes_that_meet_all_count() -> None:
    with area(ARCH, 64) as memory:
        memory.bytes[:] = 0
        state = wave()
        state.vectors[20] = np.arange(LANES)
        set_addresses(state, 2, np.full(LANES, memory.address + 8, np.uint64))
        run(ARCH, "global_atomic_add v30, v[2:3], v20, off sc0\ns_waitcnt vmcnt(0)", state)
        assert memory.bytes[8:12].view(np.uint32)[0] == LANES * (LANES - 1) // 2
        assert sorted(state.vectors[30].tolist()) == sorted(np.cumsum(np.arange(LANES)) - np.arange(LANES))


@pytest.mark.parametrize("checked", [True, False])
def test_atomics_are_aligned(checked: bool) -> None:
    with area(ARCH, 256) as memory:
        state = wave()
        at = np.full(LANES, 8)
        at[3] = 12
        set_addresses(state, 2, (memory.address + at).astype(np.uint64))
        before = memory.bytes.copy()
        result = run(ARCH, "global_atomic_add_x2 v[2:3], v[20:21], off\ns_waitcnt vmcnt(0)", state, checked=checked)
        assert rules(result) == ["misaligned"]
        assert result.findings[0].lane == 3
        np.testing.assert_array_equal(memory.bytes[16:], before[16:])


def test_out_of_a_buffers_range() -> None:
    """As a whole, never in part."""
    with area(ARCH, 64) as memory:
        state = wave()
        state.vectors[4] = 16
        set_resource(state, 8, memory.address, 20)
        before = memory.bytes.copy()
        assert not run(
            ARCH, "buffer_atomic_add_x2 v[20:21], v4, s[8:11], 0 offen sc0\ns_waitcnt vmcnt(0)", state
        ).findings
        assert not state.vectors[20:22].any()
        np.testing.assert_array_equal(memory.bytes, before)
