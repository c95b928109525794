"""The header that tells C++ which register tiles a CPU level has."""

from __future__ import annotations

from ckgen.emit import arch_header
from ckgen.emit.register_tile_header import register_tile_path, render_register_tile_header
from ckgen.specs import load_archs


def test_it_says_what_the_specs_say() -> None:
    text = render_register_tile_header(load_archs(), arch_header.COMMAND)
    assert register_tile_path().read_text(encoding="utf-8") == text, f"run `{arch_header.COMMAND}`"
    assert "RegisterTile x86_64_v3_f32[] = {{6,16}, {1,16}, {2,16}, {4,16}};" in text
    assert "x86_64_v3_bf16" not in text and "x86_64_v4_bf16_bf16" in text
    assert max(map(len, text.splitlines())) <= 120
