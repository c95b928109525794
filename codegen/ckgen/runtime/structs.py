"""The structs of ckgen/c_api.h, as ctypes sees them."""

from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_double, c_float, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any


class Sized(ctypes.Structure):
    """A struct whose first field is its own size."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(size=ctypes.sizeof(self), **fields)


class Message(ctypes.Structure):
    """The caller's buffer for a text."""

    _fields_ = (("text", c_char_p), ("size", c_size_t))


class ProblemStruct(Sized):
    """ckgen_problem."""

    _fields_ = (
        ("size", c_uint64),
        ("signature", c_uint64),
        ("m", c_int64),
        ("n", c_int64),
        ("k", c_int64),
        ("batch", c_int64),
        ("deterministic", c_int32),
        ("strategy", c_int32),
        ("groups", c_void_p),
        ("experts", c_uint32),
        ("top_k", c_uint32),
        ("block_m", c_int32),
        ("batch_invariant", c_int32),
        ("fmha", c_void_p),
        ("num_threads", c_int32),
        ("reserved", c_int32),
    )


class StreamKStruct(Sized):
    """ckgen_stream_k."""

    _fields_ = (
        ("size", c_uint64),
        ("num_tiles", c_int64),
        ("iters_per_tile", c_int64),
        ("grid", c_int64),
        ("dp_tiles", c_int64),
        ("sk_tiles", c_int64),
        ("feasible", c_int32),
        ("reserved", c_int32),
        ("max_iters_per_workgroup", c_int64),
        ("max_splits", c_int64),
        ("slice_bytes", c_int64),
        ("flags_offset", c_int64),
        ("workspace", c_int64),
    )


class SelectionStruct(Sized):
    """ckgen_selection."""

    _fields_ = (
        ("size", c_uint64),
        ("instance", c_uint32),
        ("k_batch", c_uint32),
        ("table_m", c_uint64),
        ("external", c_uint32),
        ("tier", c_uint32),
        ("rule", c_uint32),
        ("reserved", c_uint32),
        ("measured", c_int64),
        ("limit", c_int64),
    )


class InstanceStruct(Sized):
    """ckgen_instance_info."""

    _fields_ = (
        ("size", c_uint64),
        ("name", c_char_p),
        ("id", c_uint64),
        ("signature", c_uint64),
        ("backend", c_uint32),
        ("archs", c_uint32),
        ("table_kernel", c_char_p),
        ("tile_m", c_int32),
        ("tile_n", c_int32),
        ("tile_k", c_int32),
        ("max_k_batch", c_int32),
        ("has_device", c_int32),
        ("has_twin", c_int32),
    )


class DeviceStruct(Sized):
    """ckgen_device_info."""

    _fields_ = (
        ("size", c_uint64),
        ("gfx", c_char_p),
        ("brand", c_char_p),
        ("note", c_char_p),
        ("cu_num", c_uint32),
        ("kind", c_uint32),
        ("id", c_int32),
        ("reserved", c_int32),
        ("sku", c_char_p),
    )


class OptionsStruct(Sized):
    """ckgen_options."""

    _fields_ = (
        ("size", c_uint64),
        ("verbose", c_int32),
        ("reserved", c_int32),
        ("force", c_char_p),
        ("record", c_char_p),
        ("override_file", c_char_p),
        ("tables", c_char_p),
        ("count", c_int32),
        ("more_reserved", c_int32),
    )


class CountersStruct(Sized):
    """ckgen_counters."""

    _fields_ = (
        ("size", c_uint64),
        ("tiers", c_uint64 * 10),
        ("hits", c_uint64),
        ("misses", c_uint64),
        ("recorded", c_uint64),
        ("unrecorded", c_uint64),
    )


class GemmArgsStruct(Sized):
    """ckgen_gemm_args: pointers are addresses; sizes, leading dimensions and strides count elements."""

    _fields_ = (
        ("size", c_uint64),
        ("a", c_void_p),
        ("b", c_void_p),
        ("c", c_void_p),
        ("a_scale", c_void_p),
        ("b_scale", c_void_p),
        ("bias", c_void_p),
        ("a_scale_row_major", c_int32),
        ("mx_scale_shuffled", c_int32),
        ("m", c_int64),
        ("n", c_int64),
        ("k", c_int64),
        ("batch", c_int64),
        ("lda", c_int64),
        ("ldb", c_int64),
        ("ldc", c_int64),
        ("batch_stride_a", c_int64),
        ("batch_stride_b", c_int64),
        ("batch_stride_c", c_int64),
        ("d", c_void_p * 2),
        ("ldd", c_int64 * 2),
        ("batch_stride_d", c_int64 * 2),
        ("a1", c_void_p),
        ("b1", c_void_p),
        ("alpha", c_float),
        ("b_prepacked", c_int32),
    )


class BenchStruct(Sized):
    """ckgen_bench_result."""

    _fields_ = (
        ("size", c_uint64),
        ("median_us", c_double),
        ("min_us", c_double),
        ("max_us", c_double),
        ("runs", c_int32),
        ("reserved", c_int32),
    )
