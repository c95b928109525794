"""What selection takes is asked of the library without the kernels that a tune adds."""

from __future__ import annotations

from pathlib import Path

from ckgen.measure.library import Contents
from ckgen.model.target import Target
from ckgen.tune.problems import Key, case_of
from ckgen.tune.table import NO_TABLE
from ckgen.tune.usual import UsualSelection
from tune.fake_measurer import FakeMeasurer

CPU = Target("x86_64_v4", 2)
SET = """op: gemm
name: mine
signatures: [bf16]
backend: host
targets: [x86_64_v4]
configs: {register: 4x32, block: 4x32x512, threads: 0}
"""


def test_a_kernel_of_the_set_is_no_answer_of_before(tmp_path: Path) -> None:
    (tmp_path / "set.yaml").write_text(SET)
    (tmp_path / "none.csv").write_bytes(NO_TABLE.head)
    tuning, sets = (tmp_path / "none.csv",), (tmp_path / "set.yaml",)
    wide = Contents(CPU, ("gemm",), ("gemm_bf16_rcr",), tuning, sets)
    names = {one.name for one in wide.space().plan.instances}
    mine = "gemm_bf16_rcr_host_4x32_4x32x512_t0"
    assert mine in names
    fake = FakeMeasurer([mine])
    fake.usual = mine
    problem = case_of(Key("gemm_bf16_rcr", 0, 4, 32, 64), CPU)
    found = UsualSelection(fake, wide).selected(problem)
    assert found is not None
    assert found.instance in names - {mine}
    assert UsualSelection(fake, wide).candidates(problem) == fake.candidates(problem)
