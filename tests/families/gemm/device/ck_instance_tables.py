"""The tables' owner's own instances, out of its sources: each kernel name's device op with all of its arguments."""

from __future__ import annotations

import ast
import dataclasses
import re
import runpy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ck_alias_text import find_alias, plain_aliases, split_top, without_comments

FOLDERS = {
    "a8w8": "ck_gemm_a8w8",
    "a8w8_bpreshuffle": "ck_gemm_a8w8_bpreshuffle",
    "a8w8_blockscale": "ck_gemm_a8w8_blockscale",
    "a8w8_blockscale_bpreshuffle": "ck_gemm_a8w8_blockscale_bpreshuffle",
    "a4w4_blockscale": "ck_gemm_a4w4_blockscale",
    "batched_a8w8": "ck_batched_gemm_a8w8",
    "batched_bf16": "ck_batched_gemm_bf16",
}
"""By module."""

FP32_SCALES = {"DDataType": "float", "CDataType": "ck::bhalf_t"}
"""How its instances are made for fp32 scales and a bf16 C."""


def instances_of(tables: Path, module: str) -> Iterator[tuple[str, Any]]:
    """Kernel names and the objects that describe them."""
    (common,) = (tables / FOLDERS[module]).glob("*_common.py")
    seen = set()
    for listed in runpy.run_path(str(common)).values():
        for one in listed.values() if isinstance(listed, dict) else ():
            if dataclasses.is_dataclass(one) and one.name not in seen:
                seen.add(one.name)
                yield _full_name(module, one), one


def _full_name(module: str, one: Any) -> str:
    """The name as in the tables: the wheel's block-scaled instances do not yet tell their tiles per wave."""
    if module != "a8w8_blockscale":
        return str(one.name)
    xdl = f"_{one.MPerXDL}x{one.NPerXDL}_{'x'.join(map(str, one.ABLOCK_TRANSFER))}_"
    assert one.name.count(xdl) == 1, one.name
    _, tile, cluster, _ = xdl.split("_")
    return str(one.name).replace(xdl, f"_{tile}_{one.WAVE_MAP_M}x{one.WAVE_MAP_N}_{cluster}_")


def arguments_of(tables: Path, module: str, one: Any, types: Mapping[str, str]) -> tuple[str, ...]:
    """The device op's name and arguments as its generator and its header write them, without padding."""
    folder = tables / FOLDERS[module]
    written = _written(folder / "gen_instances.py", one)
    (header,) = (folder / "include").glob("*_common.cuh")
    text = without_comments(header.read_text(encoding="utf-8")).replace("#if 0", "\0").replace("#endif", "\1")
    text = re.sub("\0[^\1]*\1", "", text)
    call = re.search(r"using DeviceGemmInstance = (\w+)\s*<(.*)>;", written, re.S)
    assert call is not None, written
    alias = find_alias(text, call[1])
    pairs = zip(alias.parameters, split_top(call[2]), strict=False)
    given = {name: value for name, value in pairs if name != value}
    return alias.named({**plain_aliases(text), **alias.defaults, **FP32_SCALES, **types, **given})


def _written(generator: Path, one: Any) -> str:
    """What the generator writes for an instance: its own format string, filled in."""
    for node in ast.walk(ast.parse(generator.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.JoinedStr):
            (target,) = node.targets
            if isinstance(target, ast.Name) and target.id == "INSTANCE_CONTENT_nobias":
                code = compile(ast.Expression(node.value), str(generator), "eval")
                filled: str = eval(code, {"k": one})
                return filled.format(GemmSpec="Default")
    raise AssertionError(f"{generator} writes no instances")
