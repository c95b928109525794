"""The header that tells C++ which products report a count, and what drivers call them."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_arch_header import compile_alone

from ckgen.emit.product_header import render_product_header
from ckgen.model.arch import ArchKind
from ckgen.specs import load_archs

PROGRAM = """\
#include <ckgen/product_data.hpp>
using namespace ckgen;
constexpr std::string_view sku_of(Arch arch, unsigned count, const char* name) {
  return product_sku(find_product_of_driver(arch, count, name));
}
static_assert(sku_of(Arch::sm_90a, 132, "NVIDIA H200") == "h200");
static_assert(sku_of(Arch::sm_90a, 132, "NVIDIA H200 NVL") == "");
static_assert(sku_of(Arch::sm_90a, 114, "NVIDIA H200") == "");
static_assert(sku_of(Arch::gfx942, 38, "AMD Instinct MI325X") == "mi325x");
static_assert(sku_of(Arch::gfx950, 38, "AMD Instinct MI325X") == "");
static_assert(find_product(Arch::gfx942, 304, "mi325x") != 0 && find_product(Arch::gfx942, 80, "mi325x") == 0);
static_assert(sku_of(Arch::x86_64_amx, 2, "GenuineIntel 6 207") == "emeraldrapids");
static_assert(sku_of(Arch::x86_64_amx, 2, "GenuineIntel 6 143") == "sapphirerapids");
static_assert(sku_of(Arch::x86_64_amx, 2, "GenuineIntel 6 173") == "");
static_assert(sku_of(Arch::x86_64_v4, 2, "GenuineIntel 6 207") == "");
static_assert(sku_of(Arch::x86_64_amx, 96, "GenuineIntel 6 207") == "emeraldrapids");
static_assert(find_product(Arch::gfx942, 304, "") == 0 && product_sku(0)[0] == '\\0');
"""


@pytest.mark.cpp
def test_the_header_compiles_and_answers(tmp_path: Path) -> None:
    source = tmp_path / "probe.cpp"
    source.write_text(PROGRAM, encoding="utf-8")
    compile_alone(source)


def test_it_says_what_the_specs_say_in_any_order() -> None:
    archs = load_archs()
    text = render_product_header(archs, "make it")
    assert text == render_product_header(dict(reversed(archs.items())), "make it")
    for arch in archs.values():
        for sku in arch.skus:
            counts = sku.cu_nums if arch.kind is ArchKind.GPU else (0,) if sku.driver_names else ()
            assert all(f'{{Arch::{arch.name}, {count}, "{sku.word}"}},' in text for count in counts)
            assert all(f'{{Arch::{arch.name}, "{name}", "{sku.word}"}},' in text for name in sku.driver_names)
    assert "onecore" not in text
