"""Every struct of the C API has the fields in Python that its header says, in order and of the same type."""

from __future__ import annotations

import ctypes
import re
from ctypes import c_char_p, c_double, c_float, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

import pytest

from ckgen.runtime import abi, fmha, grouped, moe, structs
from cpp_build import ROOT

HEADERS = ("c_api.h", "c_api_ops.h", "c_api_fmha.h", "c_api_gpu.h")
NUMBERS = {
    "uint64_t": c_uint64, "int64_t": c_int64, "uint32_t": c_uint32, "int32_t": c_int32, "float": c_float,
    "double": c_double, "size_t": c_size_t,
}  # fmt: skip
NAMES = {
    "message": "Message", "problem": "ProblemStruct", "selection": "SelectionStruct", "instance_info": "InstanceStruct",
    "device_info": "DeviceStruct", "options": "OptionsStruct", "counters": "CountersStruct",
    "gemm_args": "GemmArgsStruct", "bench_result": "BenchStruct", "stream_k": "StreamKStruct",
    "group_size": "GroupSizeStruct",
    "group_operands": "GroupOperandsStruct", "grouped_args": "GroupedArgsStruct", "sorted_tokens": "SortedTokensStruct",
    "moe_args": "MoeArgsStruct", "problem_fmha": "FmhaProblemStruct", "fmha_strides": "FmhaStridesStruct",
    "fmha_args": "FmhaArgsStruct",
}  # fmt: skip
OURS: dict[str, type[ctypes.Structure]] = {
    name: next(getattr(module, ours) for module in (structs, grouped, moe, fmha) if hasattr(module, ours))
    for name, ours in NAMES.items()
}


def headers() -> str:
    """All of the C API without its comments."""
    folder = ROOT / "dispatcher_cpp" / "include" / "ckgen"
    text = "".join((folder / name).read_text(encoding="utf-8") for name in HEADERS)
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def fields_of(body: str) -> list[tuple[str, Any]]:
    """A struct's fields as ctypes would have them."""
    found: list[tuple[str, Any]] = []
    for declaration in filter(None, (line.strip() for line in body.split(";"))):
        kind, names = re.fullmatch(r"(.*?[\s*])(\w[\w\s,\[\]]*)", declaration, re.DOTALL).groups()  # type: ignore[union-attr]
        base = kind.replace("const", "").strip()
        for name in names.split(","):
            word, _, count = name.strip().rstrip("]").partition("[")
            found.append((word, type_of(base) * int(count) if count else type_of(base)))
    return found


def type_of(base: str) -> Any:
    if base.endswith("*"):
        return c_char_p if base == "char*" else c_void_p
    return NUMBERS[base] if base in NUMBERS else OURS[base.removeprefix("ckgen_")]


STRUCTS = dict(re.findall(r"struct ckgen_(\w+) \{\n(.*?)\n\}", headers(), re.DOTALL))


def test_each_struct_of_the_headers_is_known() -> None:
    assert set(STRUCTS) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_fields_are_those_of_the_header(name: str) -> None:
    ours = OURS[name]
    assert [(field, kind) for field, kind, *_ in ours._fields_] == fields_of(STRUCTS[name])


def test_every_function_of_the_table_is_declared() -> None:
    declared = set(re.findall(r"CKGEN_API [^;(]*?ckgen_(\w+)\(", headers()))
    assert {name for name in abi.FUNCTIONS if not name.startswith("fmha_split_")} <= declared
