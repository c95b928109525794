"""Several waves load equal bytes to one place of LDS: in order however they land; unequal ones race."""

from __future__ import annotations

import numpy as np
import pytest
from step_support import arguments, emulator, kernel, launch
from test_lds_races import BARRIER, ITEMS, LANDED, RESULT, SEEDS, clean, lines, only, reported, rules, run

pytestmark = pytest.mark.amd

# v5: 4 * lane, alike in every wave.
ALIKE = """
  v_and_b32_e32 v5, 63, v0
  v_lshlrev_b32_e32 v5, 2, v5
  s_mov_b32 m0, 0
  s_nop 4
  global_load_lds_dword v5, s[6:7]
"""
UNLIKE = ALIKE.replace("lds_dword v5", "lds_dword v1")
READ = "ds_read_b32 v10, v5"


def test_equal_bytes_may_land_in_any_order() -> None:
    clean(lines([ALIKE, LANDED, BARRIER, READ]), 1000 + ITEMS % 64)
    # A second time over what is there already, before any barrier.
    clean(lines([ALIKE, LANDED, ALIKE, LANDED, BARRIER, READ]), 1000 + ITEMS % 64)


def test_unequal_bytes_race() -> None:
    reported(lines([UNLIKE, LANDED, BARRIER, READ]), "lds_race")
    # Of two waves alone, also where one load is still on its way when the other is issued.
    reported(lines([*only(0, UNLIKE), *only(1, UNLIKE), BARRIER, LANDED, RESULT]), "lds_race")


def test_readers_still_wait() -> None:
    parts = [ALIKE, LANDED, BARRIER, "v_xor_b32_e32 v5, 4, v5", READ]
    clean(lines(parts), 1000 + (ITEMS % 64 ^ 1))
    for seed in SEEDS:
        made, _ = run(lines([parts[0], *parts[2:]]), seed)
        assert made.findings and rules(made.findings) <= {"before_wait", "lds_race"}


def test_a_load_over_a_load_needs_no_wait() -> None:
    """vmcnt's loads return in order, so do those of LDS; one over the other kind needs its wait."""
    body = """
      s_load_dwordx4 s[4:7], s[0:1], 0x0
      v_lshlrev_b32_e32 v1, 2, v0
      v_mov_b32_e32 v2, 5
      ds_write_b32 v1, v2
      s_waitcnt lgkmcnt(0)
      global_load_dword v3, v1, s[6:7]
      {second}
      s_waitcnt vmcnt(0) lgkmcnt(0)
      global_store_dword v1, v3, s[4:5]
    """
    for second, expected, found in (
        ("global_load_dword v3, v1, s[6:7] offset:256", 64 + np.arange(64), set()),
        ("ds_read_b32 v3, v1", np.full(64, 5), {"before_wait"}),
        ("v_mov_b32_e32 v3, 7", np.full(64, 7), {"before_wait"}),
    ):
        out, source = np.zeros(64, np.uint32), np.arange(128, dtype=np.uint32)
        chip = emulator("gfx942")
        for array in (out, source):
            chip.add(array)
        try:
            code = kernel(body.format(second=second), "gfx942", lds=1024)
            run = launch(code, "gfx942", [1], 64, arguments(out, source))
        finally:
            for array in (out, source):
                chip.remove(array)
        assert {one.rule for one in run.findings} == found
        if not found:
            assert (out == expected).all()
