"""Lists of numbers, sorted in front of ck and ck_tile, are what their own templates make of them."""

from __future__ import annotations

import dataclasses
import random
from itertools import product
from pathlib import Path

import pytest

from amd_support import amd_toolchain
from ckgen import paths
from cpp_build import attempt

pytestmark = [pytest.mark.amd, pytest.mark.cpp]

TEXT = """#include "{header}"
namespace {space} {{
struct Less : {math}less<index_t> {{}};  // by which only the library's own templates sort

template <class Ours, class Theirs>
void are_same() {{
  static_assert(requires {{ typename Theirs::sort; }} && !requires {{ typename Ours::sort; }});
  static_assert(__is_same(typename Ours::type, typename Theirs::type));
  static_assert(__is_same(typename Ours::sorted2unsorted_map, typename Theirs::sorted2unsorted_map));
}}

template <index_t... Values>
void check() {{
  using List = {name}<Values...>;
  using Equal = {math}equal<index_t>;
  are_same<sequence_sort<List, {math}less<index_t>>, sequence_sort<List, Less>>();
  are_same<sequence_sort<const List, {math}less<index_t>>, sequence_sort<List, Less>>();
  are_same<sequence_unique_sort<List, {math}less<index_t>, Equal>, sequence_unique_sort<List, Less, Equal>>();
  are_same<sequence_unique_sort<const List, {math}less<index_t>, Equal>, sequence_unique_sort<List, Less, Equal>>();
}}

void all() {{
{calls}
}}
}}
"""


def lists() -> list[tuple[int, ...]]:
    """All of up to three numbers of three, and longer ones with equal numbers among them."""
    few = [values for count in range(1, 4) for values in product(range(3), repeat=count)]
    draw = random.Random(20261)
    return [*few, *(tuple(draw.choices(range(-4, 9), k=draw.randint(4, 20))) for _ in range(12))]


@pytest.mark.parametrize(
    ("space", "header", "name", "math"),
    [("ck", "ck/utility/common_header.hpp", "Sequence", "math::"), ("ck_tile", "ck_tile/core.hpp", "sequence", "")],
    ids=["ck", "ck_tile"],
)
def test_lists_are_sorted_as_upstream_sorts_them(space: str, header: str, name: str, math: str, tmp_path: Path) -> None:
    toolchain = amd_toolchain()
    folder = paths.dispatcher_dir()
    toolchain = dataclasses.replace(toolchain, own=(folder / "backends" / space / "shim", folder, *toolchain.own))
    calls = "\n".join(f"  check<{', '.join(map(str, values))}>();" for values in lists())
    unit = tmp_path / "unit.hip"
    unit.write_text(TEXT.format(space=space, header=header, name=name, math=math, calls=calls), encoding="utf-8")
    done = attempt(*toolchain.host(), "-std=c++20", "-fsyntax-only", unit)
    assert done.returncode == 0, done.stdout
