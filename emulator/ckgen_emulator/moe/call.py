"""A host unit's answer to a part of a mixture of experts: symbol, grid and argument bytes, straight from its code."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ckgen import paths
from ckgen.families.gemm.enums import MoePart, Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen_emulator.host_unit import Call, address, answer_of, link_unit
from ckgen_emulator.moe.problem import PartData, PartProblem
from ckgen_emulator.production.routing import Routing

_SHIM = Path(__file__).with_name("prepare.cpp")


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


def link(host_unit: Path, prepare: str, signature: GemmSignature, arch: str, folder: Path) -> Path:
    """The host unit, an object or C++ without HIP, as a library of one function in `folder`; kept by what it is of."""
    defines = {
        "PREPARE": prepare, "ARCH": arch, "PART": str(signature.moe.part), "TYPE_A": str(signature.a),
        "TYPE_B": str(signature.b), "TYPE_C": str(signature.c),
    }  # fmt: skip
    return link_unit(host_unit, (_SHIM, paths.dispatcher_dir() / "src/moe/sort.cpp"), defines, folder)


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
        **{name: address(array) for name, array in arrays.items()}, **sizes, tokens=problem.tokens,
        ids=address(routing.ids), weights=address(routing.id_weights), valid=address(routing.valid),
        block_experts=address(routing.block_experts), n=problem.n, k=problem.k, experts=problem.experts,
        top_k=problem.top_k,
    )  # fmt: skip
    return answer_of(ctypes.CDLL(str(library)).ckgen_prepare_part, ctypes.byref(asked))
