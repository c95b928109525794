"""What an edit rebuilds: counted in compiled files and runs of ckgen, with Ninja and with Make."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from checkout import copy_checkout

import ckgen
import cpp_build

PROJECT = Path(__file__).parent / "incremental"
HEADER = "gfx,cu_num,M,N,K,libtype,kernelId,splitK,us,kernelName,tflops,bw,errRatio\n"
ROWWISE_HEADER = "gfx,cu_num,M,N,K,q_dtype_w,kernelId,splitK,us,kernelName,tflops,bw,errRatio\n"
SMALL = "a8w8_rowwise_256x16x64x512_16x16_1x1_32x8x1_32x8x1_1x16x1x16_4x4x1_1x1_intrawave_v3"
LARGE = "a8w8_rowwise_256x64x64x512_32x32_1x1_32x8x1_32x8x1_1x32x1x8_8x8x1_1x1_intrawave_v3"
BLOCKSCALE = "a8w8_blockscale_1x128x128_256x16x64x128_8x16_16x16_1x1_16x16x1_8x32x1_1x16x1x16_4_1x1_intrawave_v1"

INT8 = f"gfx950,256,1,1280,8192,torch.int8,34,0,17.7,{SMALL},1.2,593.3,0.0\n"
FP8 = f"gfx950,256,1,1280,8192,torch.float8_e4m3fn,34,0,11.2,{SMALL},1.9,900.0,0.0\n"
BLOCKSCALE_ROW = f"gfx950,256,16,2048,3072,ck,0,0,6.1,{BLOCKSCALE},32.9,1000.0,0.0\n"

INT8_UNITS = ["gemm_int8_bf16_rcr_rowwise"]
"""A row whose table names no output type stands for fp16 too, whose unit stands in the same file."""

KERNEL_SET = """op: gemm
name: small
signatures: [gemm_fp16_rcr]
backend: ck_tile
targets: "*"
configs: {tile: 64x64x64, warps: 2x2x1, warp_tile: [32x32x16], pipeline: compv3, scheduler: intrawave,
  pad_m: true, pad_n: true, pad_k: true}
"""


@dataclass
class Work:
    """What one build did."""

    compiled: list[str]
    generated: bool
    configured: bool
    log: str
    ok: bool

    @property
    def units(self) -> list[str]:
        """The signatures whose unit was compiled; `register` is the small file that lists them."""
        return sorted(name.removesuffix("/unit.cpp").removesuffix(".cpp") for name in self.compiled)


@dataclass
class Project:
    """A configured and built consumer, its tables and its own copy of ckgen."""

    source: Path
    folder: Path
    checkout: Path

    def build(self) -> Work:
        done = cpp_build.build(self.folder)
        found = re.findall(r"Building CXX object CMakeFiles/kernels.dir/ckgen/kernels/(\S+)\.o\b", done.stdout)
        ok = done.returncode == 0
        return Work(found, "ckgen: kernels for" in done.stdout, "Configuring done" in done.stdout, done.stdout, ok)

    def edit(self, name: str, text: str) -> None:
        write_later(self.source / "tables" / name, text)

    @property
    def all_units(self) -> list[str]:
        out = self.folder / "ckgen" / "kernels"
        return sorted(path.parent.name for path in out.glob("*/unit.cpp"))


def write_later(path: Path, text: str) -> None:
    """Writes the file at a time that differs from any before."""
    path.write_text(text)
    touch(path)


def touch(path: Path) -> None:
    now = time.time()
    os.utime(path, (now, now))


_MAKE = "Unix Makefiles"
BOTH = pytest.mark.parametrize("project", ["Ninja", _MAKE], indirect=True, scope="module")
"""What the generators do each in its own way: to read lists of inputs, and to configure again."""
NINJA = pytest.mark.parametrize(
    "project", ["Ninja", pytest.param(_MAKE, marks=pytest.mark.long)], indirect=True, scope="module"
)
"""What follows of the same lists, and of what ckgen writes, with either."""


@pytest.fixture(scope="module")
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Module-wide: each test leaves it built; a test restores what it edits. Both generators compile the same text."""
    folder = tmp_path_factory.mktemp("incremental")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CCACHE_BASEDIR", str(folder))
        yield configured(folder, request.param)


def configured(folder: Path, generator: str) -> Project:
    """The project in that folder, built once."""
    checkout = copy_checkout(folder / "check out")
    shutil.copytree(PROJECT, folder / "source")
    made = Project(folder / "source", folder / "build", checkout)
    (made.source / "tables").mkdir()
    (made.source / "set.yaml").write_text(KERNEL_SET)
    made.edit("a8w8_tuned_gemm.csv", ROWWISE_HEADER + INT8 + FP8)
    options = (f"-DCHECKOUT={checkout}", f"-DVERSION={ckgen.__version__}", f"-DCKGEN_EXECUTABLE={checkout / 'ckgen'}")
    done = cpp_build.configure(made.source, made.folder, *options, generator=generator)
    assert done.returncode == 0, done.stdout
    first = made.build()
    assert first.ok, first.log
    assert first.units == [*made.all_units, "register"]
    return made


@pytest.fixture(autouse=True)
def later() -> None:
    """The clock has moved on since the last build."""
    time.sleep(0.02)


@BOTH
def test_a_second_build_does_nothing(project: Project) -> None:
    work = project.build()
    assert work.ok
    assert (work.compiled, work.generated, work.configured) == ([], False, False)


@NINJA
@pytest.mark.parametrize(
    "path",
    [
        lambda project: project.source / "tables" / "a8w8_tuned_gemm.csv",
        lambda project: project.source / "set.yaml",
        lambda project: project.checkout / "templates" / "instance" / "unit.cpp.j2",
        lambda project: project.checkout / "arch_specs" / "gfx950.json",
        lambda project: project.checkout / "codegen" / "ckgen" / "emit" / "render.py",
    ],
    ids=["table", "kernel set", "template", "arch spec", "generator"],
)
def test_a_touched_input_runs_ckgen_and_compiles_nothing(project: Project, path: Callable[[Project], Path]) -> None:
    touch(path(project))
    work = project.build()
    assert work.generated, work.log
    assert work.compiled == []
    assert not project.build().generated


@BOTH
def test_an_edited_row_compiles_its_own_shard_only(project: Project) -> None:
    project.edit("a8w8_tuned_gemm.csv", ROWWISE_HEADER + INT8.replace(SMALL, LARGE) + FP8)
    work = project.build()
    assert work.units == INT8_UNITS
    project.edit("a8w8_tuned_gemm.csv", ROWWISE_HEADER + INT8 + FP8)
    assert project.build().units == INT8_UNITS


@NINJA
def test_an_edited_cell_that_decides_nothing_compiles_nothing(project: Project) -> None:
    project.edit("a8w8_tuned_gemm.csv", ROWWISE_HEADER + INT8.replace("593.3", "593.4") + FP8)
    assert project.build().compiled == []
    project.edit("a8w8_tuned_gemm.csv", ROWWISE_HEADER + INT8 + FP8)
    assert project.build().compiled == []


@NINJA
def test_an_edited_template_compiles_all_that_it_wrote(project: Project) -> None:
    template = project.checkout / "templates" / "instance" / "unit.cpp.j2"
    before = template.read_text()
    write_later(template, before + "// edited\n")
    assert project.build().units == project.all_units
    write_later(template, before)
    assert project.build().units == project.all_units


@NINJA
def test_a_table_that_comes_or_goes_compiles_its_own_signatures(project: Project) -> None:
    units = ["gemm_fp8_ocp_bf16_rcr_blockscale", "gemm_fp8_ocp_fp16_rcr_blockscale"]
    project.edit("a8w8_blockscale_tuned_gemm.csv", HEADER + BLOCKSCALE_ROW)
    assert project.build().units == units[:1], "both share the row, and a file"
    (project.source / "tables" / "a8w8_blockscale_tuned_gemm.csv").unlink()
    assert project.build().units == units


@BOTH
def test_a_signature_that_comes_or_goes_configures_and_compiles_in_the_same_build(project: Project) -> None:
    before = project.all_units
    write_later(
        project.source / "set.yaml", KERNEL_SET.replace("[gemm_fp16_rcr]", "[gemm_fp16_rcr, gemm_fp16_rrr_epi_relu]")
    )
    work = project.build()
    assert work.ok, work.log
    assert work.configured
    assert work.units == ["gemm_fp16_rrr_epi_relu", "register"]
    assert project.build().compiled == []
    write_later(project.source / "set.yaml", KERNEL_SET)
    work = project.build()
    assert work.ok, work.log
    assert work.units == ["register"]
    assert project.all_units == before


@BOTH
def test_a_bad_row_stops_the_build_with_the_located_error_and_keeps_the_tree(project: Project) -> None:
    sources = {path: path.read_bytes() for path in (project.folder / "ckgen" / "kernels").rglob("*.*pp")}
    project.edit("a8w8_tuned_gemm.csv", ROWWISE_HEADER + INT8.replace(",8192,", ",none,") + FP8)
    work = project.build()
    assert not work.ok
    assert "error[T005]" in work.log
    assert "a8w8_tuned_gemm.csv:2" in work.log
    assert {path: path.read_bytes() for path in sources} == sources
    project.edit("a8w8_tuned_gemm.csv", ROWWISE_HEADER + INT8 + FP8)
    work = project.build()
    assert work.ok
    assert work.compiled == []


@NINJA
def test_clean_and_build_again_writes_everything_anew(project: Project) -> None:
    assert cpp_build.build(project.folder, "--target", "clean").returncode == 0
    work = project.build()
    assert work.ok, work.log
    assert work.units == [*project.all_units, "register"]
    assert project.build().compiled == []
