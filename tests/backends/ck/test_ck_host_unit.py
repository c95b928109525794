"""Host units of classic ck: what an object of them holds, and what their PrepareFn fills in and refuses."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest
from ck_host_units import KINDS, Asked, HostUnit, Kind, Prepared, compiled, symbol

from cpp_build import run

pytestmark = [pytest.mark.amd, pytest.mark.cpp, pytest.mark.slow]

BY_LABEL = {kind.label: kind for kind in KINDS}
ALL = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.label)
A, B, C, A_SCALE, B_SCALE = 0x7F0000000000, 0x7F1000000000, 0x7F2000000000, 0x7F3000000000, 0x7F4000000000


def launch(kind: Kind, m: int, n: int, k: int, batch: int = 1, k_batch: int = 1, **others: int) -> Asked:
    """A launch on dense matrices, but for `others`."""
    fields = {
        "m": m, "n": n, "k": k, "batch": batch, "lda": k, "ldb": k, "ldc": n, "k_batch": k_batch,
        "batch_stride_a": m * k, "batch_stride_b": n * k, "batch_stride_c": m * n,
        "a": A, "b": B, "c": C, "a_scale": A_SCALE, "b_scale": B_SCALE,
        "a_scale_row_major": int(kind.instance.module == "a8w8_blockscale"),
        "mx_scale_shuffled": int(kind.instance.module == "a4w4_blockscale"),
    }  # fmt: skip
    return Asked(**(fields | others))


def prepared(kind: Kind, *sizes: int, arch: str | None = None, **others: int) -> Prepared:
    return HostUnit.of(kind).prepare(launch(kind, *sizes, **others), arch)


def refused(kind: Kind, *sizes: int, arch: str | None = None, **others: int) -> str:
    done = prepared(kind, *sizes, arch=arch, **others)
    assert done.code == 1, "unsupported"
    return str(done.message.decode())


def words(done: Prepared, form: str) -> list[int]:
    """The argument as consecutive words of a struct format."""
    size = struct.calcsize(form)
    return [struct.unpack_from(form, bytes(done.args), at)[0] for at in range(0, done.args_size, size)]


def sizes_of(kind: Kind) -> tuple[int, int, int, int]:
    """Two tiles along M and N and many along K; a small batch where there is one."""
    tile = kind.instance.config.macro_tile
    return 2 * tile.m, 2 * tile.n, 24 * tile.k, 3 if kind.instance.signature.batched else 1


def test_nothing_is_registered_or_left_to_hip() -> None:
    unit = compiled().with_suffix(".o")
    symbols = [line.split()[-2:] for line in run("nm", unit).splitlines()]
    foreign = {name for mark, name in symbols if mark == "U"}
    assert not [name for name in foreign if "hip" in name.lower()]
    sections = run("readelf", "-SW", unit)
    assert not [word for word in (".init_array", ".ctors", "hip_fatbin", ".hipFatBin") if word in sections]
    own = ("__hip_cuid_", "probe_", "_Znw", "_Zdl")
    strong = [name for mark, name in symbols if mark in "TDBR" and not name.startswith(own)]
    assert sorted(strong) == sorted(map(symbol, KINDS)), "all else is weak or local: units can be linked together"


@ALL
def test_a_launch_is_filled_in_without_allocating(kind: Kind) -> None:
    m, n, k, batch = sizes_of(kind)
    done = prepared(kind, m, n, k, batch)
    assert (done.code, done.message) == (0, b"")
    assert done.symbol.decode().startswith(f"ckgen_{kind.instance.id:016x}_default_")
    assert tuple(done.grid) == (4, 1, batch)
    assert tuple(done.block) == (kind.instance.config.block, 1, 1)
    assert done.allocations == 0
    assert tuple(done.clear) == (0, 0, 0, 0)
    pointers = words(done, "<Q")
    scales = [] if kind.instance.module == "batched_bf16" else [A_SCALE, B_SCALE]
    assert all(pointers.count(each) == 1 for each in (A, B, C, *scales))
    assert pointers[:2] == [0, 0], "neither a vtable of this process nor a workspace"
    k_stored = k // 2 if kind.instance.module == "a4w4_blockscale" else k
    numbers = words(done, "<I")
    start = numbers.index(m)
    assert numbers[start : start + 3] == [m, n, k_stored]


@ALL
def test_tiles_that_stick_out_are_counted(kind: Kind) -> None:
    m, n, k, batch = sizes_of(kind)
    done = prepared(kind, m + 1, n, k, batch)
    assert done.code == 0
    assert done.grid[0] == 6
    padded = kind.instance.module not in ("a4w4_blockscale", "batched_bf16")
    assert ("_default_" in done.symbol.decode()) is not padded


def test_splits_clear_c_row_by_row() -> None:
    kind = BY_LABEL["a8w8_int8_v3"]
    done = prepared(kind, 16, 128, 8192, k_batch=4, ldc=512)
    assert done.code == 0
    assert done.symbol.decode().endswith("_default_hot_full_add")
    assert done.grid[2] == 4
    assert tuple(done.clear) == (C, 1024, 256, 16)


def test_the_order_of_the_scales() -> None:
    """The columns' scales first, as the op's first D tensor."""
    pointers = words(prepared(BY_LABEL["a8w8_int8_v3"], 16, 64, 8192), "<Q")
    assert pointers.index(B_SCALE) < pointers.index(A_SCALE)
    blocks = words(prepared(BY_LABEL["blockscale_v3"], 128, 128, 8192), "<Q")
    assert blocks.index(A_SCALE) < blocks.index(B_SCALE)


def test_batch_strides() -> None:
    kind = BY_LABEL["batched_a8w8_v3"]
    m, n, k, batch = 128, 256, 1024, 5
    strided = words(prepared(kind, m, n, k, batch, batch_stride_a=200_000, batch_stride_c=70_000), "<I")
    assert [200_000, n * k, n, m, 70_000] in [strided[i : i + 5] for i in range(len(strided) - 4)]
    shared = words(prepared(kind, m, n, k, batch, batch_stride_b=0), "<I")
    assert [m * k, 0, 0, m, m * n] in [shared[i : i + 5] for i in range(len(shared) - 4)]


def test_refusals_say_why() -> None:
    int8, blocks = BY_LABEL["a8w8_int8_v3"], BY_LABEL["blockscale_v3"]
    assert "does not support M=16 N=64 K=520" in refused(int8, 16, 64, 520)
    assert "k_batch is 2" in refused(blocks, 128, 128, 4096, k_batch=2)
    assert "a_scale as [M][K/128]" in refused(blocks, 128, 128, 4096, a_scale_row_major=0)
    swapped = BY_LABEL["blockscale_bpreshuffle_v1"]
    assert "a_scale as [K/128][M]" in refused(swapped, 16, 64, 4096, a_scale_row_major=1)
    plain = refused(BY_LABEL["a4w4_v3"], 64, 128, 8192, mx_scale_shuffled=0)
    assert plain.endswith("reads shuffled scales; apply shuffle_mx_scale and set mx_scale_shuffled")
    assert "lda = 4294967296 is beyond" in refused(int8, 16, 64, 4096, lda=2**32)
    assert "C takes 4294967296 bytes" in refused(blocks, 2**15, 2**16, 512)
    assert "reach 2147483648 here" in refused(blocks, 2**15 + 1, 2**15 + 8, 512)
    assert prepared(blocks, 80_000, 17_408, 5120).code == 0, "measured: 2.6 GiB of C in whole tiles"


def test_an_arch_that_was_not_compiled_is_refused() -> None:
    text = refused(BY_LABEL["a8w8_int8_v3"], 16, 64, 8192, arch="gfx950")
    assert text.endswith("its variant default_hot_full_set is not among those compiled for gfx950")
    assert "on gfx942" in refused(BY_LABEL["a4w4_v3"], 64, 128, 8192, arch="gfx942")


def test_the_same_bytes_each_time() -> None:
    kind = BY_LABEL["a8w8_int8_v3"]
    calls = [bytes(prepared(kind, 16, 64, 8192).args) for _ in range(4)]
    assert all(one == other for one, other in pairwise(calls))
