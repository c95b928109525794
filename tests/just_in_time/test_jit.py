"""`ckgen.jit`: one library for one content, built once, and what is said where there is none."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import ckgen
from ckgen.build.packages.place import CACHE
from ckgen.just_in_time import JitDisabled, JitFailure, build, content
from ckgen.just_in_time.planned import planned
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.errors import InputError, UsageError
from ckgen.model.target import Target

ASKED = {"ops": ["gemm"], "targets": "gfx942:304", "signatures": ["gemm_bf16_rcr"]}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cache of the test's own, and neither sources, plans nor libraries of the size of the real ones."""
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.delenv(build.DISABLE, raising=False)
    monkeypatch.setattr(content, "own_sources", lambda: "sources")
    monkeypatch.setattr(build, "planned", lambda options: None)
    monkeypatch.setattr(build.Library, "load", lambda path, *rest, **more: (path, path.read_text(), *rest, more))


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The projects that were built, in place of what compilers make."""
    names: list[str] = []

    def make(project: build.RuntimeProject, say: Callable[[str], None], log: Path) -> Path:
        names.append(project.folder.name)
        project.library.parent.mkdir(parents=True, exist_ok=True)
        project.library.write_text(f"library {len(names)}")
        say("compiling")
        return project.library

    monkeypatch.setattr(build, "build_runtime", make)
    return names


def test_a_library_is_built_once_for_one_content(built: list[str], tmp_path: Path) -> None:
    table = tmp_path / "tuned.csv"
    table.write_text("gfx\n")
    first = ckgen.jit(**ASKED, tuning=[table])
    assert first == ckgen.jit(**ASKED, tuning=[table])
    assert first[1:4] == ("library 1", [build.NAME], "gfx942:304")
    table.write_text("gfx\ngfx942\n")
    assert ckgen.jit(**ASKED, tuning=[table])[1] == "library 2"
    for changed in ({"signatures": []}, {"targets": "gfx950"}, {"ops": ["fmha"]}, {"kernels": ["*_16x16x32"]}):
        ckgen.jit(**ASKED | changed)
    assert len(set(built)) == len(built) == 6
    ckgen.jit(**ASKED, kernel_sets=["full"])
    assert len(set(built)) == 7


def test_words_may_come_of_iterators(built: list[str]) -> None:
    listed = ckgen.jit(**ASKED, kernels=["*_16x16x32"])
    given = {name: iter([value] if isinstance(value, str) else value) for name, value in ASKED.items()}
    assert ckgen.jit(**given, kernels=iter(["*_16x16x32"])) == listed
    assert len(built) == 1


def test_names_of_kernels_are_what_the_build_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The lines of CMake that decide what is compiled."""
    from ckgen.build import runtime_library

    monkeypatch.setattr(runtime_library, "need_compiler", lambda: None)
    monkeypatch.setattr(runtime_library, "run_step", lambda *step, **more: None)
    asked = build._request(["gemm"], "gfx942:304", ["gemm_bf16_rcr"], ["two", "one"], (), (), True)
    project = build._project(asked)
    build.build_runtime(project, lambda text: None)
    lines = (project.folder / "CMakeLists.txt").read_text()
    assert '\n  KERNELS "one" "two"\n' in lines and "\n  DEVICE_CODE\n" in lines


def test_this_machine_s_gpu_is_no_simulation(built: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for own, device in ((Target("gfx942", 304), None), (Target("gfx950", 256), "gfx942:304")):
        monkeypatch.setattr(build, "native_device", lambda own=own: own)
        assert ckgen.jit(**ASKED)[3] == device
    monkeypatch.setattr(build, "native_device", lambda: Target("x86_64_v3", 4))
    assert ckgen.jit(["gemm"], "x86_64_v3:4")[3] == "cpu"
    assert ckgen.jit(**ASKED, device="gfx942:80")[3] == "gfx942:80"


def test_another_source_or_compiler_is_another_library(built: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ckgen.jit(**ASKED)
    monkeypatch.setattr(content, "own_sources", lambda: "others")
    ckgen.jit(**ASKED)
    monkeypatch.setattr(content, "compiler", lambda named: "another")
    ckgen.jit(**ASKED)
    assert len(set(built)) == 3


def test_threads_that_ask_at_once_build_once(built: list[str]) -> None:
    threads = [threading.Thread(target=lambda: ckgen.jit(**ASKED)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1


def test_disabled_it_says_what_to_build_ahead_of_time(built: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(build.DISABLE, "1")
    with pytest.raises(JitDisabled) as caught:
        ckgen.jit(**ASKED)
    assert "CKGEN_DISABLE_JIT is set, and this library is not built. Add it ahead of time, with CMake as\n" in str(
        caught.value
    )
    assert (
        "  ckgen_generate(my_kernels\n    TARGETS gfx942:304\n    OPS gemm\n    SIGNATURES gemm_bf16_rcr)\n"
    ) in str(caught.value)
    with pytest.raises(
        JitDisabled,
        match=r"SIGNATURES gemm_bf16_rcr\n    KERNELS \*_two one\n    KERNEL_SETS .*/full.yaml .*\n    DEVICE_CODE\)",
    ):
        ckgen.jit(**ASKED, kernels=["*_two", "one"], device_code=True)
    monkeypatch.delenv(build.DISABLE)
    made = ckgen.jit(**ASKED)
    monkeypatch.setenv(build.DISABLE, "1")
    assert ckgen.jit(**ASKED) == made


def test_a_failure_names_its_log_and_leaves_nothing_to_load(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(project: build.RuntimeProject, say: Callable[[str], None], log: Path) -> Path:
        log.write_text("every line\n")
        raise InputError([Diagnostic("B001", "cmake failed with exit code 1", Location("build"))])

    monkeypatch.setattr(build, "build_runtime", fail)
    for _ in range(2):
        with pytest.raises(
            JitFailure, match=r"B001\] build: cmake failed with exit code 1\nthe whole of it: /"
        ) as caught:
            ckgen.jit(**ASKED)
    assert Path(str(caught.value).rsplit(": ", 1)[1]).read_text() == "every line\n"


def test_a_step_of_a_build_says_all_in_the_log(tmp_path: Path) -> None:
    from ckgen.build.runtime_library import run_step

    log = tmp_path / "log.txt"
    with pytest.raises(InputError, match="sh failed with exit code 3"):
        run_step(["sh", "-c", "seq 100; exit 3"], tmp_path, log=log)
    assert log.read_text().split() == [str(number) for number in range(1, 101)]


def test_wrong_words_are_refused_before_anything_is_built(built: list[str], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown op: gem"):
        ckgen.jit(["gem"], "gfx942")
    for words in ({"ops": "gemm"}, {"signatures": "gemm_bf16_rcr"}, {"kernels": "*_16x16x32"}):
        with pytest.raises(UsageError, match="ops, signatures and kernels are lists of words"):
            ckgen.jit(**ASKED | words)
    with pytest.raises(UsageError, match=r"no such file or folder: .*nowhere"):
        ckgen.jit(**ASKED, tuning=[tmp_path / "nowhere"])
    with pytest.raises(Exception, match="gfx000"):
        ckgen.jit(["gemm"], "gfx000")
    assert not built


def test_a_signature_that_fits_nothing_is_refused_beside_one_that_does(
    built: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "planned", planned)
    words = {"signatures": ["gemm_bf16_rcr", "gemm_bf16_rrc"]}
    with pytest.raises(UsageError, match=r"'gemm_bf16_rrc' fits none of .*the nearest are"):
        ckgen.jit(**ASKED | words)
    assert not built
    ckgen.jit(**ASKED)
    assert len(built) == 1


def test_importing_the_package_imports_nothing_else() -> None:
    import subprocess
    import sys

    code = "import ckgen, sys; print([m for m in sys.modules if m.startswith(('ckgen.', 'numpy', 'ctypes'))])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found == "['ckgen.version']\n"
    assert {*ckgen.__all__} == {*ckgen._HOMES, "__version__", "load"} == {*dir(ckgen)}
    for name in ckgen.__all__:
        assert getattr(ckgen, name) is not None
    with pytest.raises(AttributeError, match="'ckgen' has no attribute 'nothing'"):
        ckgen.nothing  # noqa: B018
