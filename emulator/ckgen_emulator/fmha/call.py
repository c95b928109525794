"""A host unit's answer to an attention problem: symbol, grid and argument bytes, straight from its code."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckgen.families.fmha.instance import FmhaInstance
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaShape
from ckgen.runtime.fmha import FmhaArgsStruct, FmhaStridesStruct
from ckgen_emulator.host_unit import Call, address, answer_of, link_unit

_SHIM = Path(__file__).with_name("prepare.cpp")
_I32, _I64, _PTR, _U64 = ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p, ctypes.c_uint64


class _Shape(ctypes.Structure):
    _fields_ = [
        ("batch", _I64), ("heads_q", _I32), ("heads_k", _I32), ("seqlen_q", _I64), ("seqlen_k", _I64),
        ("hdim_q", _I32), ("hdim_v", _I32), ("corner", ctypes.c_uint8), ("window_left", _I32), ("window_right", _I32),
        ("sink_tokens", _I32), ("page_size", _I32), ("pages", _I64), ("total_q", _I64),
        ("split_items", _I64), ("split_combines", _I64), ("split_rows", _I64), ("split_m0", _I32), ("split_n0", _I32),
        ("split_merged", ctypes.c_uint8),
        ("seqlen_new", _I64), ("rotary_dim", _I32), ("min_seqlen_k", _I32), ("finite_kv", ctypes.c_uint8),
        ("gaps_q", ctypes.c_uint8),
    ]  # fmt: skip


class _Args(ctypes.Structure):
    """ckgen::FmhaArgs: the members of ckgen_fmha_args but for what only the C struct has."""

    _fields_ = [field for field in FmhaArgsStruct._fields_ if field[0] not in ("size", "reserved")]


class _Asked(ctypes.Structure):
    _fields_ = [
        ("shape", _PTR), ("args", _PTR), ("workspace", _PTR), ("splits", ctypes.c_uint32), ("cu_num", ctypes.c_uint32),
        ("m0", _I32), *((name, ctypes.c_uint8) for name in ("merge_heads", "varlen", "lse", "o_type")),
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class SplitOf:
    """What a launch with splits of KV knows beside its problem: the instance, and memory for partial results."""

    instance: FmhaInstance
    splits: int = 1
    workspace: NDArray[np.uint8] | None = None


def link(host_unit: Path, prepare: str, arch: str, folder: Path, stages: str = "") -> Path:
    """The host unit, an object or C++ without HIP, as a library in `folder`; kept by what it is of.

    `stages` is the symbol of its FmhaStages, empty where it has none.
    """
    defines = {"PREPARE": prepare, "ARCH": arch, **({"STAGES": stages} if stages else {})}
    return link_unit(host_unit, (_SHIM,), defines, folder)


def prepare(
    library: Path, shape: FmhaShape, args: Mapping[str, Any], *,
    splits: int = 1, cu_num: int = 1, of: SplitOf | None = None, combines: bool = False,
) -> Call:  # fmt: skip
    """The launch by names of FmhaArgs: arrays are pointers, triples strides of row, head and batch, others numbers.

    `combines`: that of the stage behind the kernel. UsageError with the host unit's words where it refuses.
    """
    loaded, asked = _asked(library, shape, args, splits, cu_num, of)
    function = loaded.ckgen_prepare_fmha_combine if combines else loaded.ckgen_prepare_fmha
    return answer_of(function, ctypes.byref(asked))


def partial_bytes(library: Path, shape: FmhaShape, of: SplitOf) -> int:
    """What the workspace of a unit with stages must have; 0: nothing is combined."""
    loaded, asked = _asked(library, shape, {}, of.splits, 1, of)
    loaded.ckgen_fmha_partials.restype = _U64
    return int(loaded.ckgen_fmha_partials(ctypes.byref(asked)))


def _asked(
    library: Path, shape: FmhaShape, args: Mapping[str, Any], splits: int, cu_num: int, of: SplitOf | None
) -> tuple[ctypes.CDLL, _Asked]:
    loaded = ctypes.CDLL(str(library))
    loaded.ckgen_prepare_fmha_sizes.restype = _U64
    if loaded.ckgen_prepare_fmha_sizes() != ctypes.sizeof(_Shape) << 32 | ctypes.sizeof(_Args):
        raise UsageError("ckgen/fmha.hpp has other structs than this module")
    sizes = {field.name: getattr(shape, field.name) for field in fields(shape)}
    given_shape = _Shape(**{**sizes, "corner": shape.corner.code})
    given = _Args(**{name: _value(value) for name, value in args.items()})
    asked = _Asked(ctypes.addressof(given_shape), ctypes.addressof(given), None, splits, cu_num)
    asked.keep = (given_shape, given)
    if of is not None:
        signature, constraints = of.instance.signature, of.instance.constraints
        asked.splits, asked.workspace = of.splits, address(of.workspace)
        asked.m0, asked.merge_heads = constraints.m0, constraints.merge_heads
        asked.varlen, asked.lse = signature.traits.varlen, signature.traits.lse
        asked.o_type = signature.c.code
    return loaded, asked


def _value(value: Any) -> Any:
    if isinstance(value, tuple):
        return FmhaStridesStruct(*value)
    return address(value) if hasattr(value, "ctypes") else value
