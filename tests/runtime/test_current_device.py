"""A generated library on what the HIP runtime (a mock) says is there; the environment's lists take no part."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ckgen.model.target import Target
from ckgen.plan.model import GenerationPlan
from ckgen.plan.select import select
from cpp_build import ROOT
from plan_support import GFX942, GFX942_80, LARGE, MIDDLE, SMALL_M, plan_of, query, row, write_table
from runtime_build import load_generated

pytestmark = pytest.mark.cpp

MOCK = ROOT / "dispatcher_cpp/tests/mock_hip/mock_hip.cpp"
PROGRAM = """
import ctypes, sys
from ckgen.runtime import Options, RuntimeLibrary
ctypes.CDLL(sys.argv[1]).hipSetDevice(int(sys.argv[3]))
library = RuntimeLibrary(sys.argv[2])
device = library.current()
dispatcher = library.dispatcher(["here"], Options())
problem = library.problem("a8w8_blockscale", 64, 512, 1024)
print(device)
print(dispatcher.select(problem, device).instance)
print(dispatcher.plan(problem, device).refusal)
"""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The mock, and a library whose winner at M = 64 differs between the three targets."""
    folder = tmp_path_factory.mktemp("current")
    mock = folder / "libmock_hip.so"
    subprocess.run(["g++", "-std=c++17", "-shared", "-fPIC", str(MOCK), "-o", str(mock)], check=True)
    load_generated(_plan(folder), "here", folder / "here")
    return mock, folder / "here" / "libhere_runtime.so"


def _plan(folder: Path) -> GenerationPlan:
    rows = [
        row(64, SMALL_M, cu_num=304),
        row(64, MIDDLE, cu_num=80),
        row(64, LARGE, gfx="gfx950", cu_num=256),
    ]
    table = write_table(folder / "a8w8_blockscale_tuned_gemm.csv", rows)
    return plan_of(table, targets=(GFX942_80, GFX942, Target("gfx950", 256)))


@pytest.mark.parametrize(("device", "target"), [(0, "gfx942:304"), (1, "gfx942:80"), (2, "gfx950:256")])
def test_the_device_that_is_there_decides(
    libraries: tuple[Path, Path], tmp_path: Path, device: int, target: str
) -> None:
    mock, library = libraries
    listed = {"CKGEN_HIP_LIBRARY": str(mock), "GPU_ARCHS": "gfx942;gfx950", "CU_NUM": "304"}
    command = [sys.executable, "-c", PROGRAM, str(mock), str(library), str(device)]
    environment = os.environ | listed | {"PYTHONPATH": str(ROOT / "codegen")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    gfx, cu_num = target.split(":")
    expected = select(query(_plan(tmp_path), Target(gfx, int(cu_num)), "a8w8_blockscale", 64, 512, 1024))
    assert expected.instance is not None
    found, instance, refusal = done.stdout.splitlines()
    assert (found, instance) == (f"{target} (gpu)", expected.instance.name)
    assert refusal == f"{instance} has no device launcher: it cannot run on {gfx}"
