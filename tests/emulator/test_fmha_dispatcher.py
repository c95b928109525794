"""The C++ dispatcher plans and launches ck_tile's and AMD's own attention on the emulator through the HIP shim."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hip_support import environment, read_report, shim
from shim_program import fmha_device_library, shim_program

from amd_support import amd_toolchain
from ckgen.families.fmha.asm_kernels import asm_fmha_kernels
from ckgen.families.fmha.config import CkTileFmhaConfig, FmhaPipeline
from ckgen.families.fmha.signature import parse_canonical
from ckgen.model.config import Tile
from ckgen_emulator.fmha.problem import FmhaProblem, fmha_data
from ckgen_emulator.gemm.problem import Data
from ckgen_emulator.production.model import compare
from commands import ok
from cpp_build import attempt

pytestmark = [pytest.mark.amd, pytest.mark.cpp, pytest.mark.slow]

SIGNATURE = "fmha_bf16_varlen_masked_lse"
CONFIG = CkTileFmhaConfig(FmhaPipeline.QR_ASYNC, 128, 64, 32, 64, 32, 64, (4, 1, 1), Tile(32, 32, 16))
"""Of the CI kernel set: tests/emulator/test_fmha_kernels.py compiles it too."""
SHIPPED = asm_fmha_kernels()["fwd_hd128_bf16_causal_rtna_group"]
PAGED = asm_fmha_kernels()["pa_bf16_noquant_gqa8_1tg_4w"]
KERNELS = ((SIGNATURE, CONFIG), (SIGNATURE, SHIPPED.config), ("fmha_bf16_blocktable_vectorized", PAGED.config))
PROBLEM = FmhaProblem((5, 137, 0, 33), (66, 100, 7, 0), heads_q=2, data=Data.RANDOM)  # the program gives no scale


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """fmha_on_shim.cpp with a generated registry of the kernels, and their device library."""
    amd_toolchain()
    folder = tmp_path_factory.mktemp("fmha")
    kernels = [word for _, config in KERNELS for word in ("--kernels", config.text())]
    kernels += [word for name in sorted({name for name, _ in KERNELS}) for word in ("--signatures", name)]
    asked = ("--ops", "fmha", "--targets", "gfx942", "--name", "my_kernels", *kernels)
    asked += ("--kernel-set", "asm")
    ok("generate", *asked, "--out", str(folder / "registry"))
    fmha_device_library(folder / "device", KERNELS)
    return shim_program(folder, "fmha_on_shim.cpp", "-O0")


@pytest.mark.parametrize(("hdim", "kernel", "grid"), [(64, "_forward", [2, 2, 4]), (128, SHIPPED.symbol, [2, 4, 1])])
def test_sequences_of_several_lengths_are_right(
    program: Path, tmp_path: Path, hdim: int, kernel: str, grid: list[int]
) -> None:
    """Unchecked: a launch with findings fails, and these have some (docs/upstream)."""
    data = fmha_data(parse_canonical(SIGNATURE), replace(PROBLEM, hdim_q=hdim, hdim_v=hdim))
    names = ("q", "k", "v", "seqstart_q", "seqstart_k")
    (tmp_path / "operands").write_bytes(b"".join(data.args[name].tobytes() for name in names))
    told = environment(tmp_path, "gfx942:304", "seed=2,checked=0") | {"CKGEN_HIP_LIBRARY": str(shim())}
    shape = data.shape
    sizes = (shape.batch, 2, 1, shape.seqlen_q, shape.seqlen_k, shape.total_q, sum(PROBLEM.lengths_k), hdim)
    done = attempt(program, tmp_path / "operands", tmp_path / "results", *sizes, env=told)
    assert done.stdout == "on gfx942\n" and done.returncode == 0, done.stdout
    found = (tmp_path / "results").read_bytes()
    o, lse = data.outputs
    of_o = np.frombuffer(found[: o.actual.nbytes], ml_dtypes.bfloat16)
    of_lse = np.frombuffer(found[o.actual.nbytes :], np.float32)
    for output, actual in ((o, of_o), (lse, of_lse)):
        assert compare(replace(output, actual=actual)).wrong == 0
    (launch,) = read_report(tmp_path)
    assert launch["grid"] == grid and launch["kernel"].endswith(kernel)


def test_rows_over_pages_are_right(program: Path, tmp_path: Path) -> None:
    """AMD's kernel: the same words, pages and promises of the problem."""
    signature = parse_canonical(KERNELS[-1][0])
    problem = FmhaProblem((1, 1, 1), (37, 16, 300), 16, 2, 128, 128, page_size=16, finite_kv=True, data=Data.RANDOM)
    data = fmha_data(signature, problem)
    shape, args = data.shape, data.args
    names = ("q", "k", "v", "seqlen_k", "block_table")
    (tmp_path / "operands").write_bytes(b"".join(args[name].tobytes() for name in names))
    told = environment(tmp_path, "gfx942:304", "checked=0") | {"CKGEN_HIP_LIBRARY": str(shim())}
    rows = (shape.batch, shape.pages * shape.page_size)
    sizes = (shape.batch, 16, 2, 1, shape.seqlen_k, *rows, 128, 16, shape.pages, args["block_table_stride"])
    done = attempt(program, tmp_path / "operands", tmp_path / "results", *sizes, env=told)
    assert done.stdout == "on gfx942\n" and done.returncode == 0, done.stdout
    of_o = np.frombuffer((tmp_path / "results").read_bytes(), ml_dtypes.bfloat16)
    assert compare(replace(data.outputs[0], actual=of_o)).wrong == 0
    (launch,) = read_report(tmp_path)
    assert launch["grid"] == [2, 3, 1] and launch["kernel"] == PAGED.symbol
