"""A grouped GEMM of ck_tile's pipelines through the dispatcher, executed under every check."""

from __future__ import annotations

from pathlib import Path

import pytest
from emulate_support import context, runtime

from ckgen.families.gemm.config import CkTileConfig
from ckgen.families.kernel_sets import shipped_set
from ckgen.families.registry import make_instance
from ckgen.model.groups import GroupSize
from ckgen_emulator.gemm.drive import Request, RunOptions, emulate
from ckgen_emulator.gemm.kernel import GemmKernel
from ckgen_emulator.gemm.problem import Data, GemmProblem

pytestmark = [pytest.mark.amd, pytest.mark.slow]

_SIZES = "65x72x128 0x72x64 1x8x64 193x72x192 65x72x0 65x0x64 64x128x328 2x8x8"
SKEWED = tuple(GroupSize(*map(int, text.split("x"))) for text in _SIZES.split())
"""Tails along M, N and K, one K tile and many, no rows, no columns, no K."""
FOUR_CUS, MANY_CUS = 4, 304


def ask(persistent: bool, cu_num: int, *problems: GemmProblem) -> Request:
    """Of the kernel set ci."""
    kernels = [one for one in shipped_set("ci", "grouped_gemm") if isinstance(one.config, CkTileConfig)]
    (found,) = (one for one in kernels if isinstance(one.config, CkTileConfig) and one.config.persistent == persistent)
    instance = make_instance(found.signature, found.config, archs=("gfx942",))
    return Request(GemmKernel(instance, "gfx942", ()), cu_num, problems)


@pytest.mark.parametrize("second", [True, pytest.param(False, marks=pytest.mark.long)], ids=["persistent", "plain"])
def test_groups_of_every_kind_are_exact_and_without_findings(second: bool, tmp_path: Path) -> None:
    """Fewer workgroups than tiles, which the persistent form has, and one for each: there the forms do the same. K in
    two splits; rows that the device alone knows."""
    even = tuple(size for size in SKEWED if size.k % 128 == 0)
    alike = tuple(GroupSize(rows, 72, 200) for rows in (70, 0, 3, 192, 16))
    requests = [
        ask(
            True,
            FOUR_CUS,
            GemmProblem.grouped(SKEWED),
            GemmProblem.grouped(SKEWED, seed=5, data=Data.RANDOM),
            GemmProblem.grouped(even, 2, seed=7),
            GemmProblem.grouped(alike, seed=3, on_device=True),
        ),
        ask(second, MANY_CUS, GemmProblem.grouped(SKEWED, seed=9), GemmProblem.grouped(alike, on_device=True)),
    ]
    results = list(emulate(requests, runtime(tmp_path), context(), RunOptions()))
    assert len(results) == 6
    for found in results:
        assert found.ok, found.to_json(stats=False)
        assert found.gpu is not None and found.twin is not None and found.answer is not None
        roles = [one["kernel"].rpartition("_")[2] for one in found.answer.launches]
        made = ["describe"] if found.problem.on_device else ["upload"]
        assert roles == [*made, "add" if found.problem.k_batch > 1 else "set"]
