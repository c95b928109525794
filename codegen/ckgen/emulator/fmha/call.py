"""A host unit's answer to an attention problem: symbol, grid and argument bytes, straight from its code."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ckgen import paths
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaCorner, FmhaShape

_SHIM = Path(__file__).with_name("prepare.cpp")
_MOST_ARGS, _MESSAGE = 1024, 240
_I32, _I64, _PTR, _F32, _U64 = ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p, ctypes.c_float, ctypes.c_uint64


@dataclass(frozen=True, slots=True)
class Call:
    """One launch."""

    symbol: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_lds: int
    args: bytes


class _Shape(ctypes.Structure):
    _fields_ = [
        ("batch", _I64), ("heads_q", _I32), ("heads_k", _I32), ("seqlen_q", _I64), ("seqlen_k", _I64),
        ("hdim_q", _I32), ("hdim_v", _I32), ("corner", ctypes.c_uint8), ("window_left", _I32), ("window_right", _I32),
        ("sink_tokens", _I32), ("page_size", _I32), ("pages", _I64), ("total_q", _I64),
        ("split_items", _I64), ("split_combines", _I64), ("split_rows", _I64), ("split_m0", _I32), ("split_n0", _I32),
        ("split_merged", ctypes.c_uint8),
    ]  # fmt: skip


class _Strides(ctypes.Structure):
    _fields_ = [("row", _I64), ("head", _I64), ("batch", _I64)]


class _Args(ctypes.Structure):
    _fields_ = [
        *((name, _PTR) for name in ("q", "k", "v", "o", "lse", "bias", "sink", "rand_val")),
        *((name, _PTR) for name in ("q_descale", "k_descale", "v_descale")),
        *((f"{name}_strides", _Strides) for name in ("q", "k", "v", "o", "bias", "rand_val")),
        ("lse_head_stride", _I64), ("lse_batch_stride", _I64),
        *((name, _PTR) for name in ("seqstart_q", "seqstart_k", "seqlen_q", "seqlen_k", "block_table")),
        ("block_table_stride", _I64), *((name, _PTR) for name in ("kv_indptr", "kv_pages", "kv_last_page")),
        ("scale", _F32), ("softcap", _F32), ("p_drop", _F32), ("seed", _U64), ("offset", _U64),
        ("split_items", _PTR), ("split_combines", _PTR),
    ]  # fmt: skip


class _Answered(ctypes.Structure):
    _fields_ = [
        ("symbol", ctypes.c_char * 256), ("grid", ctypes.c_uint32 * 3), ("block", ctypes.c_uint32 * 3),
        ("dynamic_lds", ctypes.c_uint32), ("args_size", ctypes.c_uint32),
        ("args", ctypes.c_ubyte * _MOST_ARGS), ("message", ctypes.c_char * _MESSAGE),
    ]  # fmt: skip


def link(host_unit: Path, prepare: str, arch: str, folder: Path) -> Path:
    """The host unit, an object or C++ without HIP, as a library of one function in `folder`; kept by what it is of."""
    defines = {"PREPARE": prepare, "ARCH": arch}
    headers = sorted((paths.dispatcher_dir() / "include/ckgen").glob("*.hpp"))
    digest = hashlib.sha256(repr(defines).encode())
    for part in (host_unit, _SHIM, *headers):
        digest.update(hashlib.sha256(part.read_bytes()).digest())
    library = folder / f"{digest.hexdigest()[:32]}.so"
    if not library.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        made = folder / f"{library.stem}.{os.getpid()}"
        _compile(made, defines, (_SHIM, host_unit))
        made.replace(library)
    return library


def prepare(library: Path, shape: FmhaShape, args: Mapping[str, Any], *, splits: int = 1, cu_num: int = 1) -> Call:
    """The launch by names of FmhaArgs: arrays are pointers, triples strides of row, head and batch, others numbers.

    UsageError with the host unit's words where it refuses.
    """
    loaded = ctypes.CDLL(str(library))
    loaded.ckgen_prepare_fmha_sizes.restype = _U64
    if loaded.ckgen_prepare_fmha_sizes() != ctypes.sizeof(_Shape) << 32 | ctypes.sizeof(_Args):
        raise UsageError("ckgen/fmha.hpp has other structs than this module")
    sizes = {field.name: getattr(shape, field.name) for field in fields(shape)}
    asked = _Shape(**{**sizes, "corner": list(FmhaCorner).index(shape.corner)})
    given = _Args(**{name: _value(value) for name, value in args.items()})
    answered = _Answered()
    if loaded.ckgen_prepare_fmha(ctypes.byref(asked), ctypes.byref(given), splits, cu_num, ctypes.byref(answered)):
        raise UsageError(answered.message.decode())
    grid, block = tuple(answered.grid), tuple(answered.block)
    args_bytes = bytes(answered.args[: answered.args_size])
    return Call(answered.symbol.decode(), grid, block, answered.dynamic_lds, args_bytes)


def _value(value: Any) -> Any:
    if isinstance(value, tuple):
        return _Strides(*value)
    return int(value.ctypes.data) if hasattr(value, "ctypes") else value


def _compile(to: Path, defines: Mapping[str, str], sources: tuple[Path, ...]) -> None:
    words = [f"-D{name}={value}" for name, value in defines.items()]
    compiler = shlex.split(os.environ.get("CXX") or "g++")
    command = [*compiler, "-std=c++20", "-O1", "-fPIC", "-shared", f"-I{paths.dispatcher_dir() / 'include'}"]
    command += [*words, "-o", str(to), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UsageError(f"{shlex.join(command)}\n{done.stderr.strip()}")
