"""The C++ dispatcher plans a step of decoding with a split-KV plan and launches both its stages on the emulator."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner
from hip_support import environment, read_report, shim

from amd_support import amd_toolchain
from ckgen.build.artefacts import OutFolder
from ckgen.build.cache import Cache, default_cache
from ckgen.build.compile import CODE_OBJECT
from ckgen.build.library import DeviceInstance, emit_library
from ckgen.build.planned import plan_host
from ckgen.build.pool import default_limits
from ckgen.cli import cli
from ckgen.emulator.fmha.build import compile_units
from ckgen.emulator.fmha.problem import FmhaProblem, fmha_data
from ckgen.emulator.production.model import compare
from ckgen.families.fmha.hip_config import HipFmhaConfig
from ckgen.families.fmha.instance import make_fmha_instance
from ckgen.families.fmha.signature import parse_canonical
from cpp_build import ROOT, SYSTEM_LIBRARIES, attempt, built

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
    (3, 5, 0, 2), (1800, 900, 7, 0), 8, 2, 64, 128, window_left=1500, sink_tokens=9, page_size=12, seed=5
)
SOURCE = Path(__file__).with_name("fmha_decode_on_shim.cpp")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with a generated registry and the device library of the instance."""
    amd_toolchain()
    folder = tmp_path_factory.mktemp("decode")
    (folder / "mine.yaml").write_text(SET)
    asked = ("--ops", "fmha", "--targets", "gfx942", "--signatures", SIGNATURE, "--name", "my_kernels")
    sets = ("--kernel-set", str(folder / "mine.yaml"))
    done = CliRunner().invoke(cli, ("generate", *asked, *sets, "--out", str(folder / "registry")))
    assert done.exit_code == 0, done.output
    device_library(folder / "device")
    sources = [SOURCE, *(folder / "registry").rglob("*.cpp")]
    includes = [ROOT / "dispatcher_cpp" / "include", folder / "registry" / "include", folder / "device"]
    archives = [
        folder / "device" / "libmy_kernels.a",
        built("ckgen_dispatcher") / "dispatcher_cpp" / "libckgen_dispatcher.a",
    ]
    flags = ["-std=c++17", "-O0", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
    words = [*flags, *(f"-I{place}" for place in includes), *map(str, [*sources, *archives]), *SYSTEM_LIBRARIES]
    subprocess.run(["g++", *words, "-o", str(folder / "program")], check=True)
    return folder / "program"


def device_library(folder: Path) -> None:
    """What `ckgen build --emit library` makes of the one instance."""
    instance = make_fmha_instance(parse_canonical(SIGNATURE), CONFIG, ("gfx942",))
    made = compile_units(instance, "gfx942")
    code, symbols = {"gfx942": made.device.output(CODE_OBJECT)}, plan_host(instance, {"gfx942": []}).symbols
    kernels = (DeviceInstance(instance.name, instance.id, made.host, code, symbols),)
    limits = default_limits(1, retry=True)
    emit_library("my_kernels", kernels, OutFolder(folder), amd_toolchain(), Cache(default_cache()), limits, print)


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
