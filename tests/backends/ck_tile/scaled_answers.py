"""The scaled ck_tile GEMMs' host code as shared objects that answer for many problems at once."""

from __future__ import annotations

import ctypes
import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType

import numpy as np
from numpy.typing import NDArray

from amd_support import amd_toolchain
from ckgen import paths
from ckgen.build.flags import Trait, flags_of
from ckgen.emit.device import render_device_unit
from ckgen.emit.environment import environment
from ckgen.families.gemm.config import CkTileConfig, Scheduler, TilePipeline
from ckgen.families.gemm.device import ck_tile_flatmm, ck_tile_quant
from ckgen.families.gemm.grammar import identify
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import parse_signature
from ckgen.families.registry import make_instance
from ckgen.model.config import Tile
from ckgen.specs.archs import load_archs
from cpp_build import ROOT

Problems = NDArray[np.int64]
"""Rows of M, N, K, k_batch."""

UPSTREAM = ROOT / "docs" / "upstream"
_UNIT = Path(__file__).with_name("scaled_answers.cpp.in")


def _instance(signature: str, arch: str, config: CkTileConfig, module: str, kernel: str) -> Instance:
    found = parse_signature(signature, load_archs()[arch].fp8_flavour)
    return make_instance(found, config, module=module, table_kernel=kernel, archs=(arch,))


def flatmm_instance(signature: str, arch: str, kernel: str) -> Instance:
    """A bpreshuffle instance by its kernel's name after `a8w8_bpreshuffle_cktile_`."""
    name = f"a8w8_bpreshuffle_cktile_{kernel}_default"
    found = identify("a8w8_bpreshuffle", "cktile", name)
    assert found is not None, name
    return _instance(signature, arch, found.config, "a8w8_bpreshuffle", name)


def quant_instance(signature: str, arch: str, warp_k: int, *, padded: bool) -> Instance:
    """A rowwise or per-tensor instance over plain B, of tile 64x128x128."""
    config = CkTileConfig(
        Tile(64, 128, 128), (1, 4, 1), Tile(16, 16, warp_k), TilePipeline.COMPV3, Scheduler.INTRAWAVE,
        pad_n=padded, pad_k=padded,
    )  # fmt: skip
    return _instance(signature, arch, config, "a8w8", "")


FLATMM = {
    "fnuz bf16": flatmm_instance("a8w8_bpreshuffle", "gfx942", "0x0x8x4x1x0x0x0x0x2_64x256x128_1x4x1_16x16x64"),
    "fnuz fp16": flatmm_instance("a8w8_bpreshuffle:fp16", "gfx942", "0x0x8x4x1x0x0x0x0x1_48x128x256_1x4x1_16x16x64"),
    "ocp bf16": flatmm_instance("a8w8_bpreshuffle", "gfx950", "0x0x8x4x1x0x0x0x0x3_256x192x128_1x4x1_16x16x128"),
    "padded": flatmm_instance("a8w8_bpreshuffle:fp16", "gfx950", "0x0x8x4x1x0x1x1x1x1_64x128x256_1x4x1_16x16x128"),
}
QUANT = {
    "rowwise": quant_instance("a8w8:fp8", "gfx942", 32, padded=True),
    "rowwise unpadded": quant_instance("a8w8:fp8:fp16", "gfx950", 128, padded=False),
    "per tensor": quant_instance("gemm_fp8_bf16_rcr_per_tensor", "gfx950", 128, padded=True),
}


@dataclass(frozen=True)
class Kind:
    """An instance that stands for its kind."""

    label: str
    family: ModuleType
    instance: Instance

    @property
    def config(self) -> CkTileConfig:
        config = self.instance.config
        assert isinstance(config, CkTileConfig)
        return config

    @property
    def arch(self) -> str:
        return self.instance.archs[0]


KINDS = (
    *(Kind(f"flatmm {label}", ck_tile_flatmm, instance) for label, instance in FLATMM.items()),
    *(Kind(f"quant {label}", ck_tile_quant, instance) for label, instance in QUANT.items()),
)


@dataclass(frozen=True)
class Prepared:
    """What a host unit makes of a problem."""

    symbol: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: bytes
    clear_rows: int


class ScaledAnswers:
    """One shared object for the kinds of a family, compiled into `folder` by the AMD toolchain's host half."""

    def __init__(self, family: ModuleType, folder: Path) -> None:
        self._kinds = [kind for kind in KINDS if kind.family is family]
        self._library = ctypes.CDLL(str(_compiled(family, self._kinds, folder)))
        self._library.scaled_prepared.restype = ctypes.c_char_p

    def accepts(self, kind: Kind, problems: Problems) -> NDArray[np.bool_]:
        """The kernel's own IsSupportedArgument for dense problems."""
        rows, out = np.ascontiguousarray(problems), np.zeros(len(problems), dtype=np.uint8)
        self._library.scaled_accepted(
            self._kinds.index(kind), ctypes.c_long(len(rows)), ctypes.c_void_p(rows.ctypes.data),
            ctypes.c_void_p(out.ctypes.data),
        )  # fmt: skip
        return out.astype(bool)

    def stores(self, kind: Kind) -> tuple[int, int]:
        """Elements per store of C, and bytes of LDS that the epilogue takes."""
        out = (ctypes.c_int * 2)()
        self._library.scaled_stores(self._kinds.index(kind), out)
        return out[0], out[1]

    def prepare(self, kind: Kind, arch: str, row: tuple[int, int, int, int]) -> Prepared | str:
        """What the kind's host unit makes of a problem, or why it refuses."""
        numbers, args, message = (
            (ctypes.c_uint * 8)(),
            ctypes.create_string_buffer(1024),
            ctypes.create_string_buffer(240),
        )
        symbol = self._library.scaled_prepared(
            self._kinds.index(kind), _arch_value(arch), _dtype_value(kind.instance.signature.c.value),
            (ctypes.c_longlong * 4)(*row), numbers, args, message,
        )  # fmt: skip
        if symbol is None:
            return message.value.decode()
        found = list(numbers)
        return Prepared(symbol.decode(), tuple(found[:3]), tuple(found[3:6]), args.raw[: found[6]], found[7])


@dataclass(frozen=True)
class HeaderBug:
    """`when` is true for the problems that the kernel may accept and ckgen refuses."""

    id: str
    kinds: tuple[str, ...]
    when: CodeType
    document: str

    def covers(self, kind: Kind, row: list[int]) -> bool:
        """Whether this is why the kernel accepts the problem."""
        if not kind.label.startswith(self.kinds):
            return False
        m, n, k, k_batch = row
        config, signature = kind.config, kind.instance.signature
        names = {"m": m, "n": n, "k": k, "k_batch": k_batch, "tile_k": config.tile.k, "warp_k": config.warp_tile.k}
        names |= {"a_bits": signature.a.bits, "c_bits": signature.c.bits, "max": max, "pad_k": config.pad_k}
        return bool(eval(self.when, {"__builtins__": {}}, names))


@cache
def header_bugs() -> tuple[HeaderBug, ...]:
    """docs/upstream/ck_tile_scaled_exceptions.json, in the file's order."""
    data = json.loads((UPSTREAM / "ck_tile_scaled_exceptions.json").read_text(encoding="utf-8"))
    return tuple(
        HeaderBug(each["id"], tuple(each["kinds"]), compile(each["when"], each["id"], "eval"), each["document"])
        for each in data["exceptions"]
    )


def compile_host(text: str, source: Path, *, library: bool) -> Path:
    """The text as a host object, or as a shared object that exports what is marked so."""
    toolchain = amd_toolchain()
    source.write_text(text, encoding="utf-8")
    made = source.with_suffix(".o")
    flags = flags_of("amd", toolchain.kind.value, "ck_tile", "", Trait.HOST)
    own = [f"-I{paths.dispatcher_dir() / folder}" for folder in flags.includes]
    _run([*toolchain.host(), *own, *flags.words, "-c", "-o", str(made), str(source)])
    if not library:
        return made
    linked = source.with_suffix(".so")
    _run(["g++", "-shared", "-o", str(linked), str(made)])
    return linked


def _compiled(family: ModuleType, kinds: list[Kind], folder: Path) -> Path:
    header = "flatmm.hpp" if family is ck_tile_flatmm else "quant.hpp"
    units = [family.KIND.host_unit(kind.instance, {kind.arch: family.all_variants(kind.instance)}) for kind in kinds]
    config = environment().get_template(f"device/ck_tile_{header.removesuffix('.hpp')}_config.hpp.j2")
    parts: Mapping[str, str] = {
        "header": header,
        "configs": "".join(f"namespace kind_{i} {{\n{config.render(**u.values)}}}\n" for i, u in enumerate(units)),
        "prepares": "".join(render_device_unit(unit).replace("kConfig", f"kConfig{i}").replace("kBuilt", f"kBuilt{i}")
                            .replace("Kernels", f"Kernels{i}") for i, unit in enumerate(units)),
        "stores": _cases(len(units), "stores<kind_@::Kernels>(out)"),
        "accepted": _cases(len(units), "accepted<kind_@::Kernels>(count, rows, out)"),
        "prepared": "\n".join(
            f"    case {i}: status = {unit.symbols[0]}(launch, static_cast<Arch>(arch), 0, call); break;"
            for i, unit in enumerate(units)
        ),
    }  # fmt: skip
    text = _UNIT.read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    return compile_host(text, folder / f"{header}.cpp", library=True)


def _cases(count: int, call: str) -> str:
    return "\n".join(f"    case {kind}: return {call.replace('@', str(kind))};" for kind in range(count))


def _arch_value(arch: str) -> int:
    return 1 + sorted(load_archs()).index(arch)


def _dtype_value(dtype: str) -> int:
    return {"fp32": 0, "fp16": 1, "bf16": 2}[dtype]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-6000:]
