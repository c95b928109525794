"""A library whose kernels misbehave, each in its own way."""

from __future__ import annotations

from pathlib import Path

import pytest
from bad_library import ACTS, Bad

from ckgen import paths
from ckgen.measure.library import Contents
from ckgen.measure.model import Candidate
from ckgen.specs.native import own_cpu
from runtime_build import load_generated


@pytest.fixture(scope="session")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Bad:
    folder = tmp_path_factory.mktemp("bad")
    few_rows = paths.tuning_dir() / "ckgen"
    contents = Contents(own_cpu(), ("gemm", "stream_k"), ("gemm_fp32_rcr",), (few_rows,))
    plan = contents.space().plan
    load_generated(plan, "good", folder, Path(__file__).with_name("bad_kernels.cpp"))
    (unit,) = plan.units
    named = dict(zip(ACTS, (Candidate(one.name) for one in unit.instances), strict=True))
    return Bad(folder / "libgood_runtime.so", contents, named)
