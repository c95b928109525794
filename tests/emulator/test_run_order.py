"""Which wave runs when, as the trace of a launch tells: in order, by turns, as far as barriers and the chip allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from step_support import CHIPS, kernel, table

from ckgen.model.errors import UsageError
from ckgen_emulator.bindings import Emulator, Options, Wave

pytestmark = pytest.mark.amd

ARCH = "gfx942"
NOPS = "\n".join(["s_nop 0"] * 6)
Step = tuple[int, int]
"""Workgroup and wave."""


def order(path: Path, text: str, grid: Sequence[int], waves: int, options: Options, lds: int = 32768) -> list[Step]:
    """Who executed each instruction, on a chip of one unit, which holds two workgroups."""
    trace = path / "trace"
    trace.unlink(missing_ok=True)
    with Emulator(replace(CHIPS[ARCH], compute_units=1, xcds=1), table(ARCH)) as chip:
        module = chip.load(kernel(text, ARCH, lds=lds, vgprs=32))
        result = chip.launch(module, "k", grid, [64 * waves, 1, 1], bytes(8), replace(options, trace=str(trace)))
        chip.unload(module)
    assert result.findings == ()
    lines = [line.split(" ", 3) for line in trace.read_text().splitlines()]
    assert len(lines) == result.instructions
    groups = [[int(one) for one in line[0].split(",")] for line in lines]
    return [(x + grid[0] * (y + grid[1] * z), int(line[1])) for (x, y, z), line in zip(groups, lines, strict=True)]


def runs(steps: list[Step]) -> list[tuple[Step, int]]:
    """The same as runs of one wave and their lengths."""
    found: list[tuple[Step, int]] = []
    for one in steps:
        if found and found[-1][0] == one:
            found[-1] = (one, found[-1][1] + 1)
        else:
            found.append((one, 1))
    return found


@pytest.mark.parametrize("checked", [True, False])
def test_one_after_the_other(tmp_path: Path, checked: bool) -> None:
    """Workgroups in their order, x first, and each wave as far as it goes alone."""
    steps = order(tmp_path, NOPS, (2, 2, 2), 2, Options(checked=checked))
    assert runs(steps) == [((group, wave), 7) for group in range(8) for wave in range(2)]


def test_a_trace_has_a_line_for_each_instruction(tmp_path: Path) -> None:
    """Workgroup, wave, address and text; a launch is appended to what is there."""
    text = "s_nop 5\ns_mov_b32 s20, 0x12345678\nv_mov_b32_e32 v1, v0"
    order(tmp_path, text, (1, 2, 1), 1, Options())
    lines = (tmp_path / "trace").read_text().splitlines()
    first = int(lines[0].split()[2], 16)
    texts = ((0, "s_nop 5"), (4, "s_mov_b32 s20, 0x12345678"), (12, "v_mov_b32_e32 v1, v0"), (16, "s_endpgm"))
    assert lines == [f"0,{group},0 0 {first + at:x} {text}" for group in range(2) for at, text in texts]
    with Emulator(CHIPS[ARCH], table(ARCH)) as chip:
        for _ in range(2):
            chip.step(b"\0\0\x80\xbf", Wave(), Options(trace=str(tmp_path / "trace")))
        with pytest.raises(UsageError, match=r"cannot write the trace .*: Is a directory"):
            chip.step(b"", Wave(), Options(trace=str(tmp_path)))
    added = (tmp_path / "trace").read_text().splitlines()[len(lines) :]
    assert added == ["0,0,0 0 0 s_nop 0", "0,0,0 0 4 s_endpgm"] * 2


def test_waves_meet_at_barriers(tmp_path: Path) -> None:
    steps = order(tmp_path, f"s_nop 0\ns_barrier\n{NOPS}\ns_barrier\ns_nop 0", (2, 1, 1), 3, Options())
    assert runs(steps) == [((group, wave), count) for group in range(2) for count in (2, 7, 2) for wave in range(3)]


def test_a_barrier_waits_for_no_wave_that_has_ended(tmp_path: Path) -> None:
    text = "v_readfirstlane_b32 s20, v0\ns_cmp_lt_u32 s20, 64\ns_cbranch_scc1 done\ns_barrier\ns_nop 0\ndone:\n"
    steps = order(tmp_path, text, (1, 1, 1), 3, Options())
    assert runs(steps) == [((0, 0), 4), ((0, 1), 4), ((0, 2), 4), ((0, 1), 2), ((0, 2), 2)]


@pytest.mark.parametrize("turn", [1, 2, 3, 7, 8])
def test_turns(tmp_path: Path, turn: int) -> None:
    """Both workgroups that fit side by side, wave by wave so many instructions; the next ones when those have ended."""
    steps = order(tmp_path, NOPS, (5, 1, 1), 2, Options(turn=turn))
    expected: list[Step] = []
    for resident in ((0, 1), (2, 3), (4,)):
        for start in range(0, 7, turn):
            for group in resident:
                for wave in range(2):
                    expected += [(group, wave)] * min(turn, 7 - start)
    assert steps == expected


def test_turns_of_workgroups_of_other_lengths(tmp_path: Path) -> None:
    """Where one ends, the next one takes its place, behind the one that goes on."""
    text = f"s_cmp_eq_u32 s2, 0\ns_cbranch_scc0 short\n{NOPS}\n{NOPS}\nshort:\ns_nop 0"
    steps = order(tmp_path, text, (4, 1, 1), 1, Options(turn=2))
    expected = [(0, 2), (1, 2), (0, 2), (1, 2), (0, 2), (2, 2), (0, 2), (2, 2), (0, 2), (3, 2), (0, 2), (3, 2)]
    assert [(group, count) for (group, _), count in runs(steps)] == [*expected, (0, 4)]


def test_barriers_within_turns(tmp_path: Path) -> None:
    """A wave that waits leaves its turn to the others."""
    steps = order(tmp_path, "s_nop 0\ns_barrier\ns_nop 0\ns_nop 0", (1, 1, 1), 2, Options(turn=3))
    assert runs(steps) == [((0, 0), 2), ((0, 1), 2), ((0, 0), 3), ((0, 1), 3)]


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_seed_leaves_out_nothing(tmp_path: Path, seed: int) -> None:
    """Every wave runs all of its instructions, those behind a barrier after all others have come to it."""
    steps = order(tmp_path, f"{NOPS}\ns_barrier\n{NOPS}", (6, 1, 1), 3, Options(seed=seed), lds=1024)
    assert sorted(steps) == [(group, wave) for group in range(6) for wave in range(3) for _ in range(14)]
    done = dict.fromkeys(steps, 0)
    for group, wave in steps:
        if done[group, wave] == 7:
            assert all(done[group, other] >= 7 for other in range(3))
        done[group, wave] += 1


@pytest.mark.parametrize("limit", [1, 100, 1000])
def test_a_limit_counts_the_instructions_of_all(tmp_path: Path, limit: int) -> None:
    """It ends a launch that goes beyond it and not one that meets it."""
    with Emulator(CHIPS[ARCH], table(ARCH)) as chip:
        module = chip.load(kernel("s_nop 0\ns_nop 0\ns_nop 0", ARCH, vgprs=32))
        for more in (0, 1):
            total = 4 * 2 * limit
            options = Options(most_instructions=total - more)
            result = chip.launch(module, "k", [limit, 1, 1], [128, 1, 1], bytes(8), options)
            if not more:
                assert result.findings == () and result.instructions == total
            else:
                [found] = result.findings
                assert (found.rule, found.what) == ("no_progress", f"stopped after {total} instructions")
                assert (found.instruction, found.lane, found.count) == ("", -1, 1)
        chip.unload(module)
