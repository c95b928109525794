"""The structs of ckgen/c_api_fmha.h."""

from __future__ import annotations

from ctypes import Structure, c_float, c_int32, c_int64, c_uint64, c_void_p

from ckgen.model.fmha_shape import FmhaCorner, FmhaShape
from ckgen.runtime.structs import Sized

_CORNERS = tuple(FmhaCorner)


class FmhaProblemStruct(Sized):
    """ckgen_problem_fmha."""

    _fields_ = (
        ("size", c_uint64),
        ("batch", c_int64),
        ("seqlen_q", c_int64),
        ("seqlen_k", c_int64),
        ("heads_q", c_int32),
        ("heads_k", c_int32),
        ("hdim_q", c_int32),
        ("hdim_v", c_int32),
        ("corner", c_int32),
        ("window_left", c_int32),
        ("window_right", c_int32),
        ("sink_tokens", c_int32),
        ("pages", c_int64),
        ("total_q", c_int64),
        ("page_size", c_int32),
        ("split_m0", c_int32),
        ("split_n0", c_int32),
        ("split_merged", c_int32),
        ("split_items", c_int64),
        ("split_combines", c_int64),
        ("split_rows", c_int64),
        ("seqlen_new", c_int64),
        ("rotary_dim", c_int32),
        ("min_seqlen_k", c_int32),
        ("finite_kv", c_int32),
        ("gaps_q", c_int32),
    )

    @classmethod
    def of(cls, shape: FmhaShape) -> FmhaProblemStruct:
        """The shape's sizes; what 32 bits do not hold loses its high bits."""
        sizes = {name: getattr(shape, name) for name, _ in cls._fields_ if hasattr(shape, name)}
        return cls(**sizes | {"corner": _CORNERS.index(shape.corner)})


class FmhaStridesStruct(Structure):
    """ckgen_fmha_strides."""

    _fields_ = (("row", c_int64), ("head", c_int64), ("batch", c_int64))


class FmhaArgsStruct(Sized):
    """ckgen_fmha_args."""

    _fields_ = (
        ("size", c_uint64),
        ("q", c_void_p),
        ("k", c_void_p),
        ("v", c_void_p),
        ("o", c_void_p),
        ("lse", c_void_p),
        ("bias", c_void_p),
        ("sink", c_void_p),
        ("rand_val", c_void_p),
        ("q_descale", c_void_p),
        ("k_descale", c_void_p),
        ("v_descale", c_void_p),
        ("q_strides", FmhaStridesStruct),
        ("k_strides", FmhaStridesStruct),
        ("v_strides", FmhaStridesStruct),
        ("o_strides", FmhaStridesStruct),
        ("bias_strides", FmhaStridesStruct),
        ("rand_val_strides", FmhaStridesStruct),
        ("lse_head_stride", c_int64),
        ("lse_batch_stride", c_int64),
        ("seqstart_q", c_void_p),
        ("seqstart_k", c_void_p),
        ("seqlen_q", c_void_p),
        ("seqlen_k", c_void_p),
        ("block_table", c_void_p),
        ("block_table_stride", c_int64),
        ("kv_indptr", c_void_p),
        ("kv_pages", c_void_p),
        ("kv_last_page", c_void_p),
        ("scale", c_float),
        ("softcap", c_float),
        ("p_drop", c_float),
        ("reserved", c_int32),
        ("seed", c_uint64),
        ("offset", c_uint64),
        ("split_items", c_void_p),
        ("split_combines", c_void_p),
        ("k_cache", c_void_p),
        ("v_cache", c_void_p),
        ("k_new", c_void_p),
        ("v_new", c_void_p),
        ("k_new_strides", FmhaStridesStruct),
        ("v_new_strides", FmhaStridesStruct),
        ("rotary_cos", c_void_p),
        ("rotary_sin", c_void_p),
        ("dout", c_void_p),
        ("dq", c_void_p),
        ("dk", c_void_p),
        ("dv", c_void_p),
        ("dbias", c_void_p),
        ("dsink", c_void_p),
        ("dout_strides", FmhaStridesStruct),
        ("dq_strides", FmhaStridesStruct),
        ("dk_strides", FmhaStridesStruct),
        ("dv_strides", FmhaStridesStruct),
        ("dbias_strides", FmhaStridesStruct),
    )
