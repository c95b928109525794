"""Which toolchain is loaded, what its commands make, and what a ROCm must have."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from amd_support import amd_toolchain
from ckgen import paths
from ckgen.build.amd.model import AmdToolchain, Kind
from ckgen.build.amd.place import default_prefix
from ckgen.build.amd.toolchain import Record, load, read_record, write_record
from ckgen.build.packages.place import cache_dir
from ckgen.model.errors import InputError

UNIT = """\
#include <hip/hip_runtime.h>
#include "ck/answer.hpp"
#include <vector>
extern "C" __global__ void answer(int* out) { out[threadIdx.x] = static_cast<int>(blockIdx.x) + kAnswer; }
std::vector<int> host() { return {kAnswer}; }
"""


def code_of(error: pytest.ExceptionInfo[InputError]) -> str:
    (found,) = error.value.diagnostics
    return found.code


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def compiled(toolchain: AmdToolchain, arch: str, folder: Path, flags: Sequence[str] = ()) -> tuple[str, bytes]:
    """The assembly and the linked code object of UNIT."""
    source, assembly, code, linked = (folder / f"unit.{end}" for end in ("hip", "s", "o", "hsaco"))
    source.write_text(UNIT)
    run(*toolchain.device(arch), "-O1", *flags, "-S", "-o", str(assembly), str(source))
    run(*toolchain.assemble(arch), "-o", str(code), str(assembly))
    run(*toolchain.link(), "-o", str(linked), str(code))
    return assembly.read_text(), linked.read_bytes()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A CK tree of one header beside the marks of a real one."""
    for name in ("ck/ck.hpp", "ck_tile/core.hpp"):
        (tmp_path / "ck/include" / name).parent.mkdir(parents=True)
        (tmp_path / "ck/include" / name).write_text("")
    (tmp_path / "ck/include/ck/answer.hpp").write_text("constexpr int kAnswer = 42;\n")
    return tmp_path / "ck"


@pytest.fixture
def rocm(tmp_path: Path) -> Path:
    """A ROCm whose amdclang++ is the pinned clang, taught by flags where the HIP headers are, as the real one knows."""
    pinned = amd_toolchain()
    root = tmp_path / "rocm"
    (root / "bin").mkdir(parents=True)
    (root / "llvm/bin").mkdir(parents=True)
    known = [word for word in pinned.hip if word not in ("-x", "hip", "--target=x86_64-linux-gnu")]
    script(root / "bin/amdclang++", [*pinned.compiler, *known, f"-isystem{root}/include"])
    script(root / "llvm/bin/ld.lld", pinned.linker)
    shutil.copytree(paths.dispatcher_dir() / "hip/include/hip", root / "include/hip")
    return root


def script(path: Path, command: Sequence[str]) -> None:
    words = " ".join(f"'{word}'" for word in command)
    path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    path.chmod(0o755)


def test_nothing_is_prepared(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="ckgen toolchain amd") as caught:
        load(tmp_path)
    assert code_of(caught) == "X001" and str(tmp_path) in str(caught.value)


def test_a_record_without_its_packages_is_not_a_toolchain(tmp_path: Path) -> None:
    write_record(tmp_path, Record(Kind.PINNED))
    with pytest.raises(InputError, match="ziglang") as caught:
        load(tmp_path)
    assert code_of(caught) == "X001"


def test_the_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CKGEN_CACHE", "CKGEN_AMD_PREFIX", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_dir() == tmp_path / ".cache/ckgen"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_dir() == tmp_path / "xdg/ckgen"
    monkeypatch.setenv("CKGEN_CACHE", str(tmp_path / "own"))
    assert default_prefix() == tmp_path / "own/amd"
    monkeypatch.setenv("CKGEN_AMD_PREFIX", str(tmp_path / "prefix"))
    assert default_prefix() == tmp_path / "prefix"


@pytest.mark.parametrize(
    "record", [Record(Kind.PINNED), Record(Kind.ROCM, Path("/r")), Record(Kind.ROCM, Path("/r"), Path("/c"))]
)
def test_records_are_read_as_written(tmp_path: Path, record: Record) -> None:
    write_record(tmp_path, Record(Kind.ROCM, Path("/other")))
    write_record(tmp_path, record)
    assert read_record(tmp_path) == record
    assert [path.name for path in tmp_path.iterdir()] == ["toolchain.json"]
    (tmp_path / "toolchain.json").write_text('{"schema": "other"}')
    assert read_record(tmp_path) is None


@pytest.mark.amd
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_the_pinned_toolchain_makes_code_objects(arch: str, tree: Path, tmp_path: Path) -> None:
    pinned = amd_toolchain()
    toolchain = dataclasses.replace(pinned, ck=dataclasses.replace(pinned.ck, includes=(tree / "include",)))
    assembly, code = compiled(toolchain, arch, tmp_path)
    assert f'.amdgcn_target "amdgcn-amd-amdhsa--{arch}"' in assembly and ".amdhsa_kernel answer" in assembly
    assert code[:4] == b"\x7fELF" and int.from_bytes(code[18:20], "little") == 224
    run(*toolchain.host(), "-fPIC", "-fsyntax-only", str(tmp_path / "unit.hip"))


@pytest.mark.amd
def test_a_rocm_makes_code_objects_with_its_own_headers(rocm: Path, tree: Path, tmp_path: Path) -> None:
    toolchain = load(tmp_path / "prefix", rocm=rocm, ck=tree)
    assert toolchain.kind is Kind.ROCM and toolchain.own == () and toolchain.ck.includes == (tree / "include",)
    assert toolchain.compiler == (str(rocm / "bin/amdclang++"),)
    assert toolchain.linker == (str(rocm / "llvm/bin/ld.lld"),)
    assembly, code = compiled(toolchain, "gfx942", tmp_path)
    assert ".amdhsa_kernel answer" in assembly and code[:4] == b"\x7fELF"


@pytest.mark.amd
def test_what_identifies_a_rocm(rocm: Path, tree: Path, tmp_path: Path) -> None:
    before = load(tmp_path, rocm=rocm, ck=tree)
    assert load(tmp_path, rocm=rocm, ck=tree) == before
    (tree / "include/ck/answer.hpp").write_text("constexpr int kAnswer = 43;\n")
    other_tree = load(tmp_path, rocm=rocm, ck=tree)
    assert other_tree.tree_id != before.tree_id and other_tree.compiler_id == before.compiler_id
    with (rocm / "include/hip/hip_version.h").open("a") as file:
        file.write("// newer\n")
    other_headers = load(tmp_path, rocm=rocm, ck=tree)
    assert other_headers.headers_id != before.headers_id
    with (rocm / "bin/amdclang++").open("a") as file:
        file.write("# newer\n")
    other_compiler = load(tmp_path, rocm=rocm, ck=tree)
    assert other_compiler.compiler_id != before.compiler_id
    assert len({one.identity for one in (before, other_tree, other_headers, other_compiler)}) == 4


@pytest.mark.amd
def test_hipcc_is_asked_where_its_clang_is(rocm: Path, tree: Path, tmp_path: Path) -> None:
    clang = rocm / "elsewhere/clang++"
    clang.parent.mkdir()
    (rocm / "bin/amdclang++").rename(clang)
    wrapper = rocm / "bin/hipcc"
    wrapper.write_text(
        f"#!/bin/sh\necho 'HIP version: 7'; echo 'clang version 22'; echo 'InstalledDir: {clang.parent}'\n"
    )
    wrapper.chmod(0o755)
    toolchain = load(tmp_path, rocm=rocm, ck=tree)
    assert toolchain.compiler == (str(clang),)
    compiled(toolchain, "gfx942", tmp_path)


@pytest.mark.amd
@pytest.mark.parametrize(
    ("gone", "code", "text"),
    [
        ("bin/amdclang++", "X005", "no HIP compiler"),
        ("llvm/bin/ld.lld", "X005", "no ld.lld"),
        ("include/hip/hip_runtime.h", "X005", "no HIP headers"),
    ],
)
def test_what_a_rocm_must_have(rocm: Path, tree: Path, tmp_path: Path, gone: str, code: str, text: str) -> None:
    (rocm / gone).unlink()
    with pytest.raises(InputError, match=text) as caught:
        load(tmp_path, rocm=rocm, ck=tree)
    assert code_of(caught) == code


@pytest.mark.amd
def test_where_a_rocm_gets_its_ck_headers(rocm: Path, tree: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--ck DIR") as caught:
        load(tmp_path / "empty", rocm=rocm)
    assert code_of(caught) == "X006"
    with pytest.raises(InputError) as caught:
        load(tmp_path / "empty", rocm=rocm, ck=tmp_path)
    assert code_of(caught) == "X006"
    assert load(amd_toolchain().prefix, rocm=rocm).tree_id == amd_toolchain().tree_id
    shutil.copytree(tree / "include", rocm / "include", dirs_exist_ok=True)
    assert load(tmp_path / "empty", rocm=rocm).ck.includes == (rocm / "include",)


@pytest.mark.amd
def test_a_compiler_that_is_none_is_refused(rocm: Path, tree: Path, tmp_path: Path) -> None:
    (rocm / "bin/amdclang++").write_text("#!/bin/sh\necho 'gcc version 12'\n")
    with pytest.raises(InputError, match="no clang") as caught:
        load(tmp_path, rocm=rocm, ck=tree)
    assert code_of(caught) == "X005"
