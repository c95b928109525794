"""The structs of MoE layers in ckgen/c_api_ops.h."""

from __future__ import annotations

import ctypes
from ctypes import c_int32, c_int64, c_uint64, c_void_p

from ckgen.runtime.structs import Sized


class SortedTokensStruct(ctypes.Structure):
    """ckgen_sorted_tokens."""

    _fields_ = (("token_ids", c_void_p), ("weights", c_void_p), ("expert_ids", c_void_p), ("valid", c_void_p))


class MoeArgsStruct(Sized):
    """ckgen_moe_args."""

    _fields_ = (
        ("size", c_uint64),
        ("a", c_void_p),
        ("w1", c_void_p),
        ("w2", c_void_p),
        ("c", c_void_p),
        ("a_scale", c_void_p),
        ("w1_scale", c_void_p),
        ("w2_scale", c_void_p),
        ("tokens", c_int64),
        ("lda", c_int64),
        ("ldc", c_int64),
        ("topk_ids", c_void_p),
        ("topk_weights", c_void_p),
        ("sorted", SortedTokensStruct),
        ("a_scale_row_major", c_int32),
        ("mx_scale_shuffled", c_int32),
    )
