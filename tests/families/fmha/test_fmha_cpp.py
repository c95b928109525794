"""Attention's signatures in C++: the real header has Python's fields, and both compute the same key."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path

import pytest

from ckgen.emit.render import render
from ckgen.families.common import cpp
from ckgen.families.common.key import pack
from ckgen.families.fmha import cpp as cpp_fmha
from ckgen.families.fmha.constraints import FmhaConstraints
from ckgen.families.fmha.enums import FmhaTraits
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.dtype import DType
from ckgen.model.target import Target
from cpp_build import ROOT
from plan_support import plan_of

PLAIN = FmhaSignature.of(DType.BF16)


def each_by_one_field() -> Iterator[FmhaSignature]:
    """Plain attention, and all that differ from it in one field; meaning does not matter to a key."""
    yield PLAIN
    for field in fields(FmhaSignature):
        if field.name != "traits":
            yield from (replace(PLAIN, **{field.name: dtype}) for dtype in DType if dtype is not DType.BF16)
    for field in fields(FmhaTraits):
        usual = getattr(PLAIN.traits, field.name)
        values = [True] if isinstance(usual, bool) else [one for one in type(usual) if one is not usual]
        yield from (replace(PLAIN, traits=replace(PLAIN.traits, **{field.name: value})) for value in values)


def text_of(signature: FmhaSignature) -> str:
    """A ckgen::Signature as the units' template writes it."""
    return f"ckgen::Signature({''.join(cpp_fmha.signature_words(signature))})"


def test_keys_differ_wherever_a_field_does() -> None:
    keys = [pack(signature) for signature in each_by_one_field()]
    assert len(set(keys)) == len(keys) > 50 and all(key < 2**64 for key in keys)


def test_a_unit_of_one_gpu_and_one_cpu_kernel(golden: Callable[[str, str], None], tmp_path: Path) -> None:
    kernel = "fmha_fp16_masked_ck_tile_qr_async_pad1111_128x128x32x128x32x128_4x1x1_32x32x16"
    table = tmp_path / "attention.csv"
    table.write_text(
        "gfx,cu_num,batch,heads_q,heads_k,seqlen_q,seqlen_k,hdim_q,hdim_v,mask,us,kernelName\n"
        f"gfx942,304,1,32,8,4096,4096,128,128,b:-1:0,2000,{kernel}\n"
        f"gfx942,304,1,32,8,1024,1024,128,128,b:127:0,900,{kernel}\n"
    )
    plan = plan_of(
        table,
        targets=(Target("gfx942", 304), Target("x86_64_v3", 1)),
        ops=frozenset({"fmha"}),
        signatures=("fmha_fp16_masked",),
        kernels=("qr_async_pad1111_128x128x32x128x32x128_*", "16x64_t0"),
    )
    path = "fmha_fp16_masked/unit.cpp"
    golden(f"generate/{path}", render(plan, "my_kernels")[path])


@pytest.mark.cpp
def test_the_real_header_has_these_fields_and_keys(tmp_path: Path) -> None:
    traits = ", ".join(field.name for field in fields(FmhaTraits))
    numbers = ", ".join(field.name for field in fields(FmhaConstraints))
    tile = FmhaConstraints(
        128,
        64,
        32,
        96,
        16,
        192,
        80,
        True,
        False,
        8,
        4,
        2,
        3,
        True,
        False,
        True,
        16,
        24,
        48,
        5,
        6,
        True,
        False,
        True,
        False,
        takes_gaps_q=False,
    )
    lines = [
        "#include <ckgen/describe_fmha.hpp>",
        "#include <ckgen/describe_unit.hpp>",
        "using namespace ckgen::describe;",
        f"constexpr ckgen::FmhaConfig tile = {cpp_fmha.numbers(tile)};",
        f"constexpr bool ok() {{ const auto& [{numbers}] = tile; const auto [{traits}] = ckgen::FmhaTraits{{}};",
        "  return m0 == 128 && n0 == 64 && k0 == 32 && n1 == 96 && k1 == 16 && hdim_q == 192 && hdim_v == 80 &&",
        "         pad_q && !pad_k && d_multiple == 8 && dv_multiple == 4 && max_splits == 2 && page_multiple == 3 &&",
        "         takes_items && !merge_heads && always_combines && rotary_multiple == 16 && rows_together == 24 &&",
        "         max_page == 48 && max_rows == 5 && max_group == 6 && causal_only && !topleft_only && needs_keys &&",
        "         !needs_finite && sink_tokens && !takes_gaps_q && topleft_slopes && !unordered_dq && !last_resort &&",
        f"         ((void)0, {', '.join(f'(void){field.name}' for field in fields(FmhaTraits))}, true); }}",
        "static_assert(ok());",
        *(
            f"static_assert({text_of(signature)}.pack() == {cpp.hex64(pack(signature))});"
            for signature in each_by_one_field()
        ),
    ]
    source = tmp_path / "keys.cpp"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = ["g++", "-std=c++20", "-fsyntax-only", f"-I{ROOT / 'dispatcher_cpp/include'}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
