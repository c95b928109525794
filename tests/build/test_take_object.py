"""Shipped code objects are taken from the wheel only when they are the recorded ones."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from amd_support import amd_toolchain, production_wheel
from ckgen import paths
from ckgen.build.amd.model import AmdToolchain
from ckgen.build.artefacts import Emit, OutFolder
from ckgen.build.cache import Cache
from ckgen.build.compile import Unit, device_job
from ckgen.build.inspect.code_object import read_file
from ckgen.build.planned import Planned
from ckgen.build.pool import Outcome, default_limits, run_jobs
from ckgen.build.take_object import main, take
from ckgen.build.unit_files import SHIPPED_OBJECT, code_objects
from ckgen.families.gemm import asm_kernels

DATA = b"\x7fELF a code object"
LIST = f"# who made it\n\ngfx942 hsa/a.co {'0' * 64}\ngfx950 hsa/a.co {hashlib.sha256(DATA).hexdigest()}\n"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    place = tmp_path / "some.whl"
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr("hsa/a.co", DATA)
    return place


def test_the_listed_object_is_taken(wheel: Path) -> None:
    assert take(wheel, LIST, "gfx950") == DATA


@pytest.mark.parametrize(
    ("listed", "arch", "says"),
    [
        (LIST, "gfx90a", "no code object is listed for gfx90a"),
        (LIST, "gfx942", "hsa/a.co of some.whl is not the code object of sha256 000"),
        (LIST.replace("a.co", "b.co"), "gfx950", "hsa/b.co cannot be read from some.whl"),
    ],
)
def test_another_object_is_not_taken(wheel: Path, listed: str, arch: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        take(wheel, listed, arch)


def test_the_command_says_why_not(wheel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed, out = tmp_path / "list.txt", tmp_path / "out.hsaco"
    listed.write_text(LIST, encoding="utf-8")
    assert main([str(wheel), str(listed), "gfx942", str(out)]) == 1 and not out.exists()
    assert capsys.readouterr().out.startswith("error: hsa/a.co")
    assert main([str(wheel), str(listed), "gfx950", str(out)]) == 0 and out.read_bytes() == DATA
    wheel.write_bytes(b"PK no archive")
    assert main([str(wheel), str(listed), "gfx950", str(out)]) == 1


@pytest.mark.amd
def test_a_wheel_that_is_gone_is_no_kept_failure(tmp_path: Path) -> None:
    kernel = next(iter(asm_kernels.asm_kernels().values()))
    found = kernel.objects[0]
    unit = Unit("a kernel", "asm", kernel.module, found.arch, f"{found.arch} {found.path} {found.sha256}\n")
    toolchain, cache = amd_toolchain(), Cache(tmp_path / "cache")
    production_wheel()
    outcomes: list[Outcome] = []

    def run(with_toolchain: AmdToolchain) -> Outcome:
        run_jobs([device_job(unit, with_toolchain)], cache, default_limits(1), outcomes.append, lambda standing: None)
        return outcomes[-1]

    failed = run(replace(toolchain, prefix=tmp_path))
    assert not failed.entry.ok and "`ckgen toolchain amd` downloads it" in failed.entry.log
    done = run(toolchain)
    assert done.job.key == failed.job.key and done.entry.ok and not done.cached
    assert hashlib.sha256(done.entry.output(SHIPPED_OBJECT).read_bytes()).hexdigest() == found.sha256


@pytest.mark.amd
def test_stages_are_compiled_beside_what_is_taken(tmp_path: Path) -> None:
    """Of one job, into a code object behind the shipped one; a build keeps both."""
    found = next(iter(asm_kernels.asm_kernels().values())).objects[0]
    listed = f"{found.arch} {found.path} {found.sha256}\n"
    stages = '#include <hip/hip_runtime.h>\nextern "C" __global__ void stage(float* x) { *x = 1; }\n'
    planned = Planned("k", 1, "", "asm", "", "fmha_bf16_bwd", found.arch, "", "", listed, (), stages)
    assert Planned.from_json(json.loads(json.dumps(planned.to_json()))) == planned
    toolchain, cache = amd_toolchain(), Cache(tmp_path / "cache")
    job = device_job(planned.unit, toolchain)
    assert len({job.key, device_job(replace(planned, stages="").unit, toolchain).key}) == 2
    outcomes: list[Outcome] = []
    run_jobs([job, job], cache, default_limits(1), outcomes.append, lambda standing: None)
    (done,) = outcomes
    assert done.entry.ok, done.entry.log
    shipped, compiled = code_objects(done.entry.folder)
    assert hashlib.sha256(shipped.read_bytes()).hexdigest() == found.sha256
    assert [kernel.name for kernel in read_file(compiled).kernels] == ["stage"]
    out = OutFolder(tmp_path / "out")
    out.keep_device(planned, done.entry, Emit.ASM)
    out.keep_sources([planned], [], toolchain)
    kept = {name: tmp_path / "out" / found.arch / name for name in ("k.hsaco", "k.stages.hsaco")}
    assert [place.read_bytes() for place in kept.values()] == [shipped.read_bytes(), compiled.read_bytes()]
    assert [place.read_text() for place in (tmp_path / "out" / "src").glob("*/k.*")] == [stages]
    (command,) = json.loads((tmp_path / "out" / "compile_commands.json").read_text())
    assert command["file"].endswith(f"{found.arch}/k.hip") and command["file"] in command["arguments"]


@pytest.mark.amd
def test_the_recorded_kernels_are_the_wheel_s(tmp_path: Path) -> None:
    """The tool writes the very file again."""
    wheel = production_wheel()
    place = Path(asm_kernels.__file__).with_suffix(".json")
    before = place.read_bytes()
    tool = paths.root() / "tools" / "record_asm_kernels.py"
    out = tmp_path / "asm_kernels.json"
    subprocess.run([sys.executable, str(tool), str(wheel), str(out)], check=True)
    assert json.loads(out.read_text()) == json.loads(before) and out.read_bytes() == before
