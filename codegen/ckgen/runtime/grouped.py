"""The structs of grouped GEMMs in ckgen/c_api_ops.h."""

from __future__ import annotations

import ctypes
from ctypes import c_float, c_int32, c_int64, c_uint64, c_void_p

from ckgen.runtime.structs import Sized


class GroupSizeStruct(ctypes.Structure):
    """ckgen_group_size."""

    _fields_ = (("m", c_int64), ("n", c_int64), ("k", c_int64))


class GroupOperandsStruct(ctypes.Structure):
    """ckgen_group_operands: pointers are addresses; leading dimensions count elements."""

    _fields_ = (
        ("a", c_void_p),
        ("b", c_void_p),
        ("c", c_void_p),
        ("a_scale", c_void_p),
        ("b_scale", c_void_p),
        ("bias", c_void_p),
        ("d", c_void_p * 2),
        ("lda", c_int64),
        ("ldb", c_int64),
        ("ldc", c_int64),
        ("ldd", c_int64 * 2),
    )


class GroupedArgsStruct(Sized):
    """ckgen_grouped_args: addresses of arrays, of the host or of the device as the plan's groups are."""

    _fields_ = (
        ("size", c_uint64),
        ("operands", c_void_p),
        ("sizes", c_void_p),
        ("count", c_int64),
        ("a_scale_row_major", c_int32),
        ("mx_scale_shuffled", c_int32),
        ("alpha", c_float),
        ("reserved", c_int32),
        ("a_scale_stride", c_int64),
    )
