"""The C++ dispatcher plans a step of decoding with a split-KV plan and launches both its stages on the emulator."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hip_support import environment, read_report, shim
from shim_program import fmha_device_library, shim_program

from amd_support import amd_toolchain
from ckgen.families.fmha.hip_config import HipFmhaConfig
from ckgen.families.fmha.signature import parse_canonical
from ckgen_emulator.fmha.problem import FmhaProblem, fmha_data
from ckgen_emulator.gemm.problem import Data
from ckgen_emulator.production.model import compare
from commands import ok
from cpp_build import ROOT, attempt

pytestmark = [pytest.mark.amd, pytest.mark.cpp, pytest.mark.slow]

SIGNATURE = "fmha_bf16_fp8_fnuz_bf16_varlen_masked_sink_lse_kvblockscale_blocktable"
CONFIG = HipFmhaConfig(16, 256, 64, 128)
"""tests/emulator/test_fmha_decode.py compiles it too."""
SET = f"""op: fmha
name: mine
signatures: {SIGNATURE}
backend: hip
targets: gfx942
kernels: {CONFIG.text()}
"""
PROBLEM = FmhaProblem(
    (3, 5, 0, 2),
    (1800, 900, 7, 0),
    8,
    2,
    64,
    128,
    window_left=1500,
    sink_tokens=9,
    page_size=12,
    seed=5,
    data=Data.RANDOM,
)  # the program gives no scale
SOURCE = Path(__file__).with_name("fmha_decode_on_shim.cpp")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with a generated registry and the device library of the instance."""
    amd_toolchain()
    folder = tmp_path_factory.mktemp("decode")
    (folder / "mine.yaml").write_text(SET)
    asked = ("--ops", "fmha", "--targets", "gfx942", "--signatures", SIGNATURE, "--name", "my_kernels")
    sets = ("--kernel-set", str(folder / "mine.yaml"))
    ok("generate", *asked, *sets, "--out", str(folder / "registry"))
    fmha_device_library(folder / "device", [(SIGNATURE, CONFIG)])
    return shim_program(folder, "fmha_decode_on_shim.cpp", "-O0")


def test_a_step_is_planned_split_and_combined(program: Path, tmp_path: Path) -> None:
    """Under all checks: a launch with findings fails."""
    data = fmha_data(parse_canonical(SIGNATURE), PROBLEM)
    shape, args = data.shape, data.args
    names = ("q", "k", "v", "k_descale", "v_descale", "sink", "seqstart_q", "seqlen_k", "block_table")
    (tmp_path / "operands").write_bytes(b"".join(args[name].tobytes() for name in names))
    told = environment(tmp_path, "gfx942:304", "seed=2") | {"CKGEN_HIP_LIBRARY": str(shim())}
    sizes = (
        shape.batch, shape.heads_q, shape.heads_k, shape.seqlen_q, shape.seqlen_k, shape.hdim_q, shape.hdim_v,
        shape.page_size, shape.pages, args["block_table_stride"], shape.window_left, shape.sink_tokens, shape.total_q,
    )  # fmt: skip
    done = attempt(program, tmp_path / "operands", tmp_path / "results", *sizes, env=told)
    assert done.returncode == 0, done.stdout
    told_of = re.fullmatch(r"(\d+) items, (\d+) combined, 2 stages, (\d+) bytes\n", done.stdout)
    assert told_of is not None, done.stdout
    items, combines, workspace = map(int, told_of.groups())
    assert items > combines > 1 and workspace > 0
    found = (tmp_path / "results").read_bytes()
    o, lse = data.outputs
    of_o = np.frombuffer(found[: o.actual.nbytes], ml_dtypes.bfloat16)
    of_lse = np.frombuffer(found[o.actual.nbytes :], np.float32)
    for output, actual in ((o, of_o), (lse, of_lse)):
        assert compare(replace(output, actual=actual)).wrong == 0
    split, combine = read_report(tmp_path)
    assert split["kernel"].endswith("_decode") and split["grid"] == [items * 2, 1, 1]
    assert combine["kernel"].endswith("_combine")


def test_the_document_has_the_program() -> None:
    text = (ROOT / "docs/fmha_split.md").read_text()
    (block,) = re.findall(r"```cpp\n(.*?)```", text, re.DOTALL)
    body = SOURCE.read_text().partition("  // docs/fmha_split.md\n")[2].partition("  // docs end\n")[0]
    assert [line.removeprefix("  ") for line in body.splitlines()] == block.splitlines()
