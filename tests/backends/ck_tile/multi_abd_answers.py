"""The host code of ck_tile's multi-D, multi-ABD and batched GEMMs as a shared object that answers for many problems."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scaled_answers import compile_host

from ckgen.emit.device import render_device_unit
from ckgen.families.gemm.config import CkTileConfig, Scheduler, TilePipeline
from ckgen.families.gemm.device import ck_tile, ck_tile_multi_abd
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.registry import make_instance
from ckgen.model.config import Tile

Problems = NDArray[np.int64]
"""Rows of M, N, K, k_batch, batch."""

_UNIT = Path(__file__).with_name("multi_abd_answers.cpp.in")


def _instance(signature: str, tile: Tile, pipeline: TilePipeline, vector: int, *, padded: bool) -> Instance:
    config = CkTileConfig(
        tile, (2, 2, 1), Tile(32, 32, 16), pipeline, Scheduler.INTRAWAVE,
        pad_m=padded, pad_n=padded, pad_k=padded, vector=vector,
    )  # fmt: skip
    parsed = parse_canonical(signature)
    return make_instance(parsed, config, archs=("gfx942",))


_SMALL, _LARGE = Tile(64, 64, 64), Tile(128, 128, 64)
KINDS = {
    "any D": _instance("gemm_fp16_rcr_epi_add_relu", _SMALL, TilePipeline.COMPV3, 1, padded=True),
    "two D": _instance("gemm_bf16_rrr_epi_mul_add", _LARGE, TilePipeline.COMPV3, 0, padded=True),
    "all": _instance("gemm_fp16_ccr_batched_a_add_b_mul_epi_add", _SMALL, TilePipeline.COMPV3, 0, padded=False),
    "two B": _instance("gemm_bf16_fp32_crr_b_mul", _SMALL, TilePipeline.MEM, 0, padded=True),
    "batched": _instance("gemm_fp16_rcr_batched", _SMALL, TilePipeline.COMPV4, 0, padded=True),
}


@dataclass(frozen=True)
class Prepared:
    """What a host unit makes of a problem."""

    symbol: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: bytes
    clear_rows: int


class MultiAbdAnswers:
    """One shared object for all kinds, compiled into `folder` by the AMD toolchain's host half."""

    def __init__(self, folder: Path) -> None:
        self._numbers = {name: number for number, name in enumerate(KINDS)}
        self._library = ctypes.CDLL(str(_compiled(folder)))
        self._library.multi_abd_prepared.restype = ctypes.c_char_p

    def accepts(self, kind: str, problems: Problems) -> NDArray[np.bool_]:
        """The op's own IsSupportedArgument for dense problems."""
        rows, out = np.ascontiguousarray(problems), np.zeros(len(problems), dtype=np.uint8)
        pointers = (ctypes.c_void_p(rows.ctypes.data), ctypes.c_void_p(out.ctypes.data))
        self._library.multi_abd_accepted(self._numbers[kind], ctypes.c_long(len(rows)), *pointers)
        return out.astype(bool)

    def derived(self, kind: str) -> tuple[int, int]:
        """Elements per store of C, and bytes of LDS of the epilogue."""
        out = (ctypes.c_int * 2)()
        self._library.multi_abd_derived(self._numbers[kind], out)
        return out[0], out[1]

    def prepare(self, kind: str, row: tuple[int, int, int, int, int]) -> Prepared | str:
        """What the kind's host unit makes of a problem, or why it refuses."""
        numbers, args = (ctypes.c_uint * 8)(), ctypes.create_string_buffer(1024)
        message = ctypes.create_string_buffer(240)
        row_of = (ctypes.c_longlong * 5)(*row)
        symbol = self._library.multi_abd_prepared(self._numbers[kind], row_of, numbers, args, message)
        if symbol is None:
            return message.value.decode()
        found = list(numbers)
        return Prepared(symbol.decode(), tuple(found[:3]), tuple(found[3:6]), args.raw[: found[6]], found[7])


def _compiled(folder: Path) -> Path:
    texts, prepared = [], []
    for number, instance in enumerate(KINDS.values()):
        unit = ck_tile_multi_abd.host_unit(instance, {"gfx942": ck_tile.all_variants(instance)})
        text = re.sub(r"\b(Config|built)\b", rf"\g<1>{number}", render_device_unit(unit))
        texts.append(text)
        call = f"status = {unit.symbols[0]}(launch, Arch::gfx942, 0, call)"
        prepared.append(f"    case {number}: gemm = dense<Config{number}>(row); {call}; break;")
    parts = {
        "units": "".join(texts),
        "accepted": _cases("accepted<Config@>(count, rows, out)"),
        "derived": _cases("derived<Config@>(out)"),
        "prepared": "\n".join(prepared),
    }
    text = _UNIT.read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    return compile_host(text, folder / "multi_abd.cpp", library=True)


def _cases(call: str) -> str:
    return "\n".join(f"    case {number}: return {call.replace('@', str(number))};" for number in range(len(KINDS)))
