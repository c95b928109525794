"""The C++ dispatcher, unchanged, launches a compiled GEMM on the emulator through the HIP shim."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hip_support import environment, read_report, shim
from shim_program import shim_program

from amd_support import amd_toolchain
from commands import ok
from cpp_build import attempt

pytestmark = [pytest.mark.amd, pytest.mark.cpp, pytest.mark.slow]

CONFIG = "64x16x16x64_16x16_1x1_8x8x1_8x8x1_1x16x1x4_4x4x1_1x1_interwave_v2"
INSTANCE = f"gemm_bf16_rcr_batched_ck_{CONFIG}"
"""One of tests/build/inspect/recorded_set.json's, which CI compiles anyway."""
ROW = f"1,1280,8192,78,0,111.9,bf16_batched_{CONFIG},3.0,3000.0,0.0"
TABLE = f"""gfx,cu_num,B,M,N,K,kernelId,splitK,us,kernelName,tflops,bw,errRatio
gfx942,304,16,{ROW}
gfx950,256,16,{ROW}
"""
B, M, N, K = 2, 32, 48, 512


TARGETS = ("gfx942:304", pytest.param("gfx950:256", marks=pytest.mark.long))
"""On the second the same kernel is launched by the same arguments; tests/build/test_library.py has one of two archs."""


@pytest.fixture(scope="module", params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def program(target: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """gemm_on_shim.cpp with a generated registry and the device library that `ckgen build` makes for it."""
    amd_toolchain()
    folder = tmp_path_factory.mktemp("gemm")
    (folder / "bf16_tuned_batched_gemm.csv").write_text(TABLE, encoding="utf-8")
    table = str(folder / "bf16_tuned_batched_gemm.csv")
    asked = ("--targets", target, "--tuning", table, "--signatures", "gemm_bf16_rcr_batched")
    ok("generate", *asked, "--backend", "ck", "--name", "my_kernels", "--out", str(folder / "registry"))
    ok(
        "build",
        *(*asked, "--kernels", INSTANCE),
        *("--emit", "library", "--name", "my_kernels", "--out", str(folder / "device")),
    )
    assert (folder / "device" / "signatures.txt").read_text() == "gemm_bf16_rcr_batched\n"
    return shim_program(folder, "gemm_on_shim.cpp", "-O1")


def test_a_compiled_gemm_is_right_at_once_and_from_a_graph(program: Path, tmp_path: Path, target: str) -> None:
    dice = np.random.default_rng(7)
    a = dice.integers(-4, 5, (B, M, K)).astype(ml_dtypes.bfloat16)
    b = dice.integers(-4, 5, (B, N, K)).astype(ml_dtypes.bfloat16)
    (tmp_path / "operands").write_bytes(a.tobytes() + b.tobytes())
    told = environment(tmp_path, target, "seed=5") | {"CKGEN_HIP_LIBRARY": str(shim()), "CKGEN_FORCE": INSTANCE}
    done = attempt(program, tmp_path / "operands", tmp_path / "results", B, M, N, K, env=told)
    arch, _, count = target.partition(":")
    assert done.stdout == f"on {arch} with {count} compute units\n" and done.returncode == 0
    found = np.fromfile(tmp_path / "results", ml_dtypes.bfloat16).reshape(3, B, M, N)
    product = a.astype(np.float64) @ b.astype(np.float64).transpose(0, 2, 1)  # exact, as every sum is below 2**24
    for result, factor in zip(found, (1, 1, 2), strict=True):
        assert np.array_equal(result, (factor * product).astype(np.float32).astype(ml_dtypes.bfloat16))
    launches = read_report(tmp_path)
    assert len(launches) == 3 and all(launch["findings"] == [] for launch in launches)
    assert all(launch["grid"] == [M // 16 * N // 16, 1, B] for launch in launches)


def test_what_the_emulator_finds_is_a_failed_run(program: Path, target: str, tmp_path: Path) -> None:
    """A limit of instructions stands for a wrong kernel: it is a finding like any other."""
    (tmp_path / "operands").write_bytes(bytes(2 * B * (M + N) * K))
    told = environment(tmp_path, target, "most_instructions=100")
    told |= {"CKGEN_HIP_LIBRARY": str(shim()), "CKGEN_FORCE": INSTANCE}
    done = attempt(program, tmp_path / "operands", tmp_path / "results", B, M, N, K, env=told)
    assert done.returncode == 1
    assert "hipModuleLaunchKernel answered with HIP error 719" in done.stdout
    assert read_report(tmp_path)[0]["findings"]
