"""Pairs of registers of which one half is wanted: what compilers leave unwritten in the other is no finding."""

from __future__ import annotations

import pytest
from step_support import assemble, emulator, kernel, launch

from ckgen_emulator.bindings import Run, Wave

pytestmark = pytest.mark.amd


def run(text: str) -> Run:
    """The lines, for a wave that has written nothing."""
    return emulator("gfx942").step(assemble(text, "gfx942"), Wave(), all_written=False)


SUM = "v_mov_b32 v0, 7\nv_mov_b32 v2, 5\nv_mad_u64_u32 v[4:5], s[6:7], v0, v0, v[2:3]\n"


def test_the_low_half_needs_no_high_one() -> None:
    assert run(SUM + "v_not_b32 v6, v4\n").findings == ()


def test_the_high_half_of_the_result_is_as_unwritten_as_the_sources() -> None:
    (finding,) = run(SUM + "v_not_b32 v6, v5\n").findings
    assert (finding.rule, finding.what) == ("uninitialised", "v5 was never written in 64 lanes")


def test_a_written_high_half_is_one() -> None:
    assert run("v_mov_b32 v3, 0\n" + SUM + "v_not_b32 v6, v5\n").findings == ()


def test_the_low_half_is_needed() -> None:
    (finding,) = run(SUM.replace("v_mov_b32 v2, 5\n", "")).findings
    assert finding.what == "v2 was never written in 64 lanes"


def test_a_result_over_its_source_keeps_what_is_unwritten() -> None:
    over = SUM.replace("v[4:5]", "v[2:3]")
    assert run(over + "v_not_b32 v6, v2\n").findings == ()
    (finding,) = run(over + "v_not_b32 v6, v3\n").findings
    assert finding.what == "v3 was never written in 64 lanes"


@pytest.mark.parametrize(
    ("line", "needed"),
    [
        ("v_pk_fma_f32 v[8:9], v[0:1], v[2:3], v[4:5] op_sel_hi:[0,1,1]", {0, 2, 3, 4, 5}),
        ("v_pk_mul_f32 v[8:9], v[0:1], v[2:3] op_sel:[1,0]", {1, 2, 3}),
        ("v_pk_add_f32 v[8:9], v[0:1], v[2:3]", {0, 1, 2, 3}),
        ("v_pk_mov_b32 v[8:9], v[0:1], v[2:3] op_sel:[1,0]", {1, 2}),
    ],
)
def test_of_packed_pairs_the_selected_halves_are_needed(line: str, needed: set[int]) -> None:
    assert run("".join(f"v_mov_b32 v{one}, 0\n" for one in needed) + line).findings == ()
    for left_out in needed:
        written = "".join(f"v_mov_b32 v{one}, 0\n" for one in needed - {left_out})
        (finding,) = run(written + line).findings
        assert finding.what == f"v{left_out} was never written in 64 lanes"


def test_a_lane_mask_may_be_merged_into_an_undefined_one() -> None:
    merge = "s_andn2_b64 s[4:5], s[8:9], exec\ns_and_b64 s[6:7], s[10:11], exec\ns_or_b64 s[4:5], s[4:5], s[6:7]\n"
    assert scalar_findings(merge, written="s[10:11]") == []
    assert scalar_findings(merge.replace("exec\ns_and", "s[10:11]\ns_and"), written="s[10:11]") == ["s8"]


def test_what_is_undefined_may_be_saved_to_a_lane_and_restored() -> None:
    saved = (
        "v_writelane_b32 v9, s8, 2\nv_writelane_b32 v9, s10, 3\nv_readlane_b32 s12, v9, 2\nv_readlane_b32 s13, v9, 3\n"
    )
    assert scalar_findings(saved, written="s[10:11]") == []


def scalar_findings(lines: str, written: str) -> list[str]:
    """The registers of which a kernel that begins with `written` says that they were never written."""
    done = launch(kernel(f"s_mov_b64 {written}, 0\n{lines}", "gfx942"), "gfx942", [1], 64, b"")
    return [finding.what.split()[0] for finding in done.findings if finding.rule == "uninitialised"]
