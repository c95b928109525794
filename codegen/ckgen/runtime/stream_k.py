"""The stream-K partition as C++ computes it."""

from __future__ import annotations

from ctypes import byref, c_int64
from dataclasses import dataclass

from ckgen.runtime.abi import Abi
from ckgen.runtime.structs import StreamKStruct


@dataclass(frozen=True, slots=True)
class StreamKPartition:
    """ckgen::StreamKPartition and its workspace; see ckgen/stream_k.hpp. The last fields are 0 unless `feasible`."""

    num_tiles: int
    iters_per_tile: int
    grid: int
    dp_tiles: int
    sk_tiles: int
    feasible: bool
    max_iters_per_workgroup: int
    max_splits: int
    slice_bytes: int
    flags_offset: int
    workspace: int
    workgroups: tuple[tuple[int, int], ...]  # the stream-K iterations [begin, end) of each
    tiles: tuple[tuple[int, int], ...]  # the first and the last workgroup of each


def stream_k_partition(
    abi: Abi, sizes: tuple[int, int, int, int], tile: tuple[int, int, int], grid: int, *, each: bool = False
) -> StreamKPartition:
    """Of a problem of (batch, M, N, K) on `grid` workgroups; `each`: with every workgroup's and tile's share.

    RuntimeFailure for sizes beyond 2^31 and empty tiles.
    """
    found = StreamKStruct()
    abi.call("stream_k_partition", (c_int64 * 4)(*sizes), (c_int64 * 3)(*tile), grid, 4, byref(found))

    def pair(name: str, number: int) -> tuple[int, int]:
        first, second = c_int64(), c_int64()
        abi.call(name, byref(found), number, byref(first), byref(second))
        return first.value, second.value

    shown = each and found.feasible == 1
    return StreamKPartition(
        num_tiles=found.num_tiles,
        iters_per_tile=found.iters_per_tile,
        grid=found.grid,
        dp_tiles=found.dp_tiles,
        sk_tiles=found.sk_tiles,
        feasible=found.feasible == 1,
        max_iters_per_workgroup=found.max_iters_per_workgroup,
        max_splits=found.max_splits,
        slice_bytes=found.slice_bytes,
        flags_offset=found.flags_offset,
        workspace=found.workspace,
        workgroups=tuple(pair("stream_k_workgroup", g) for g in range(found.grid)) if shown else (),
        tiles=tuple(pair("stream_k_tile", t) for t in range(found.num_tiles)) if shown else (),
    )
