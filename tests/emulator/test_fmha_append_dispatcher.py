"""The C++ dispatcher chooses, plans and runs our kernel that appends, on the emulator."""

from __future__ import annotations

import pytest
from emulate_support import context, runtime

from ckgen.families.fmha.append_config import HipAppendConfig
from ckgen.families.fmha.signature import parse_canonical
from ckgen.families.registry import make_instance
from ckgen_emulator.fmha.append import AppendProblem
from ckgen_emulator.fmha.dispatched import dispatched

INSTANCE = make_instance(parse_canonical("fmha_bf16_append_blocktable_rope_half"), HipAppendConfig(8), ("gfx942",))
"""tests/emulator/test_fmha_append_kernels.py compiles it too."""
PROBLEM = AppendProblem((0, 13, 40), (9, 9, 9), 4, 2, 64, 48, page_size=16, rotary_dim=32, seed=7)


@pytest.mark.amd
@pytest.mark.cpp
@pytest.mark.slow
def test_new_rows_and_o_are_right_and_nothing_else_is_written(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Under all checks."""
    built = runtime(tmp_path_factory.getbasetemp())
    (found,) = dispatched(INSTANCE, "gfx942", [PROBLEM], built, context(), seed=2)
    assert found.instance == INSTANCE.name and found.right and not found.findings, found
    (launch,) = found.launches
    assert launch["kernel"].endswith("_append") and launch["grid"] == [6, 2, 1]
