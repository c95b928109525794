"""What takes its time says so on stderr, also where that is no terminal."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ckgen.build.runtime_library import run_step
from ckgen.model.errors import InputError, UsageError
from ckgen.progress import Progress
from commands import ok, run

BENCHED = ("--target", "native", "--signature", "fp32", "--shape", "1,2,3")
SHOWING = (
    "quickstart", "generate", "validate", "lookup", "explain", "list", "export", "shapes", "tables stats",
    "tables merge", "tables dedupe", "toolchain amd", "build", "amd-check", "emulate", "fuzz", "tune", "bench",
    "heuristic fit", "heuristic eval", "predict fit", "predict eval", "report coverage", "diff",
)  # fmt: skip
NINJA = "print('[1/2] Building'); print('warning: x'); print('[2/2] Linking')"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CKGEN_PROGRESS_SECONDS", "0.02")


def slow(*_: Any, **__: Any) -> None:
    time.sleep(0.3)
    raise UsageError("enough")


@pytest.mark.parametrize(
    ("place", "command", "said"),
    [
        ("ckgen.fuzz.prepare.prepare", ("fuzz", "--seconds", "1"), "planning"),
        ("ckgen.measure.local.local_measurer", ("bench", "gemm", *BENCHED), "planning"),
        ("ckgen.quickstart.run.prepare", ("quickstart", "--dir", "q"), "planning"),
        ("ckgen.plan.planner.make_plan", ("validate", "t"), "reading"),
        ("ckgen.emit.generate.generate", ("generate", "--targets", "gfx942", "--tuning", "t"), "generating"),
        ("ckgen.build.kernel_set_jobs.set_kernels", ("amd-check", "--kernel-set", "ci"), "reading kernel sets"),
    ],
)
def test_a_command_that_waits_says_for_what(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, place: str, command: tuple[str, ...], said: str
) -> None:
    monkeypatch.setattr(place, slow)
    done = run(*command)
    assert done.exit_code == 2 and done.stdout == ""
    assert re.search(rf"^{said}, 0 s$", done.stderr, re.MULTILINE), done.stderr


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(("seconds", "is_said"), [("0", False), ("3600", False), ("nonsense", False), ("0.02", True)])
def test_the_environment_says_how_often(monkeypatch: pytest.MonkeyPatch, seconds: str, is_said: bool) -> None:
    monkeypatch.setenv("CKGEN_PROGRESS_SECONDS", seconds)
    monkeypatch.setattr("ckgen.plan.planner.make_plan", slow)
    assert ("reading, 0 s" in run("validate", "t").stderr) is is_said


@pytest.mark.usefixtures("tiny")
def test_a_quiet_command_says_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ckgen.plan.planner.make_plan", slow)
    assert run("validate", "--quiet", "t").stderr == "error: enough\n"
    assert "reading, 0 s" in run("validate", "t").stderr


@pytest.mark.parametrize("name", SHOWING)
def test_commands_that_show_progress_can_be_quiet(name: str) -> None:
    assert "--quiet" in ok(*name.split(), "--help")


def test_a_build_tells_how_many_of_its_edges_are_done(tmp_path: Path) -> None:
    heard: list[str] = []
    run_step([sys.executable, "-c", NINJA], tmp_path, heard.append)
    assert [re.sub(", [0-9.,]+/(s|min)", "", text) for text in heard] == ["compiling, 1 of 2", "compiling, 2 of 2"]


def test_a_build_draws_a_bar_of_its_edges_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[str, float | None]] = []
    monkeypatch.setattr(Progress, "_draw", lambda line, text, fraction: drawn.append((text.split(",")[0], fraction)))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    line = Progress()
    line.step("configuring")
    run_step([sys.executable, "-c", NINJA], tmp_path, line.step)
    assert drawn == [("configuring", None), ("compiling", 0.5), ("compiling", 1.0)]


def test_a_build_that_fails_shows_the_end_of_its_log(tmp_path: Path) -> None:
    script = "import sys\nfor i in range(99): print(i)\nsys.stdout.flush(); print('bad', file=sys.stderr); sys.exit(3)"
    with pytest.raises(InputError) as error:
        run_step([sys.executable, "-c", script], tmp_path)
    (found,) = error.value.diagnostics
    assert found.code == "B001" and "failed with exit code 3" in found.message
    assert found.detail[-3:] == ("97", "98", "bad") and len(found.detail) == 40
