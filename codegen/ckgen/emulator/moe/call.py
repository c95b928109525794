"""A host unit's answer to a part of a mixture of experts: symbol, grid and argument bytes, straight from its code."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ckgen import paths
from ckgen.emulator.moe.problem import PartData, PartProblem
from ckgen.emulator.production.routing import Routing
from ckgen.families.gemm.enums import MoePart, Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.errors import UsageError

_SHIM = Path(__file__).with_name("prepare.cpp")
_MOST_ARGS, _MESSAGE = 1024, 240


@dataclass(frozen=True, slots=True)
class Call:
    """One launch; `clear_bytes` of C are zeroed first."""

    symbol: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_lds: int
    args: bytes
    clear_bytes: int


class _Asked(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("a", "w1", "w2", "c", "a_scale", "w1_scale", "w2_scale")),
        *((name, ctypes.c_int64) for name in ("tokens", "lda", "ldc")),
        *((name, ctypes.c_void_p) for name in ("topk_ids", "topk_weights", "ids", "weights", "block_experts", "valid")),
        ("a_scale_row_major", ctypes.c_bool), ("mx_scale_shuffled", ctypes.c_bool),
        ("n", ctypes.c_int64), ("k", ctypes.c_int64),
        ("experts", ctypes.c_int32), ("top_k", ctypes.c_int32), ("block_m", ctypes.c_int32),
        ("cu_num", ctypes.c_uint32),
    ]  # fmt: skip


class _Answered(ctypes.Structure):
    _fields_ = [
        ("symbol", ctypes.c_char * 256), ("grid", ctypes.c_uint32 * 3), ("block", ctypes.c_uint32 * 3),
        ("dynamic_lds", ctypes.c_uint32), ("args_size", ctypes.c_uint32), ("clear_bytes", ctypes.c_uint64),
        ("args", ctypes.c_ubyte * _MOST_ARGS), ("message", ctypes.c_char * _MESSAGE),
    ]  # fmt: skip


def link(host_unit: Path, prepare: str, signature: GemmSignature, arch: str, folder: Path) -> Path:
    """The host unit, an object or C++ without HIP, as a library of one function in `folder`; kept by what it is of."""
    defines = {
        "PREPARE": prepare, "ARCH": arch, "PART": str(signature.moe.part), "TYPE_A": str(signature.a),
        "TYPE_B": str(signature.b), "TYPE_C": str(signature.c),
    }  # fmt: skip
    sources = (_SHIM, paths.dispatcher_dir() / "src/moe_sort.cpp")
    headers = [
        header
        for folder in ("include/ckgen", "backends/asm", "backends/device")
        for header in sorted((paths.dispatcher_dir() / folder).glob("*.hpp"))
    ]
    digest = hashlib.sha256(repr(defines).encode())
    for part in (host_unit, *sources, *headers):
        digest.update(hashlib.sha256(part.read_bytes()).digest())
    library = folder / f"{digest.hexdigest()[:32]}.so"
    if not library.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        made = folder / f"{library.stem}.{os.getpid()}"
        _compile(made, defines, (*sources, host_unit))
        made.replace(library)
    return library


def prepare(
    library: Path, signature: GemmSignature, block_m: int, problem: PartProblem, data: PartData, cu_num: int
) -> Call:
    """The launch of a problem; UsageError with the host unit's words where it refuses."""
    first = signature.moe.part is MoePart.GATE_UP
    words = ("w1", "w1_scale") if first else ("w2", "w2_scale")
    arrays = {"a": data.a, "c": data.output.actual, "a_scale": data.a_scale, words[0]: data.w, words[1]: data.w_scale}
    sizes = {
        "lda": problem.k, "ldc": problem.n, "a_scale_row_major": signature.quant is Quant.BLOCKSCALE,
        "mx_scale_shuffled": signature.quant is Quant.MX, "block_m": block_m, "cu_num": cu_num,
    }  # fmt: skip
    return call(library, problem, arrays, data.routing, sizes)


def call(
    library: Path,
    problem: PartProblem,
    arrays: Mapping[str, NDArray[Any] | None],
    routing: Routing,
    sizes: Mapping[str, int],
) -> Call:
    """The launch by names of MoeArgs: `arrays` are its pointers, `sizes` its other members, block_m and cu_num."""
    asked = _Asked(
        **{name: _address(array) for name, array in arrays.items()}, **sizes, tokens=problem.tokens,
        ids=_address(routing.ids), weights=_address(routing.id_weights), valid=_address(routing.valid),
        block_experts=_address(routing.block_experts), n=problem.n, k=problem.k, experts=problem.experts,
        top_k=problem.top_k,
    )  # fmt: skip
    answered = _Answered()
    if ctypes.CDLL(str(library)).ckgen_prepare_part(ctypes.byref(asked), ctypes.byref(answered)):
        raise UsageError(answered.message.decode())
    grid, block = tuple(answered.grid), tuple(answered.block)
    args = bytes(answered.args[: answered.args_size])
    return Call(answered.symbol.decode(), grid, block, answered.dynamic_lds, args, answered.clear_bytes)


def _address(array: Any) -> int | None:
    return None if array is None else int(array.ctypes.data)


def _compile(to: Path, defines: Mapping[str, str], sources: tuple[Path, ...]) -> None:
    words = [f"-D{name}={value}" for name, value in defines.items()]
    compiler = shlex.split(os.environ.get("CXX") or "g++")
    folders = [f"-I{paths.dispatcher_dir() / 'include'}", f"-I{paths.dispatcher_dir()}"]
    command = [*compiler, "-std=c++20", "-O1", "-fPIC", "-shared", *folders, *words, "-o", str(to), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UsageError(f"{shlex.join(command)}\n{done.stderr.strip()}")
