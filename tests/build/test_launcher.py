"""Compiler launchers from options and environment."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ckgen.build.launcher import NO_LAUNCHER, Launcher, launcher_for, launcher_of, one_word
from ckgen.model.errors import UsageError


@pytest.mark.parametrize(
    ("given", "environment", "words"),
    [
        (None, {}, ()),
        ("env", {"CKGEN_COMPILER_LAUNCHER": "nice"}, ("env",)),
        ("", {"CKGEN_COMPILER_LAUNCHER": "nice"}, ()),
        (None, {"CMAKE_CXX_COMPILER_LAUNCHER": "nice;-n;5"}, ("nice", "-n", "5")),
        (None, {"CKGEN_COMPILER_LAUNCHER": "nice -n 5", "CMAKE_CXX_COMPILER_LAUNCHER": "env"}, ("nice", "-n", "5")),
    ],
)
def test_the_option_then_ckgens_variable_then_cmakes(
    given: str | None, environment: dict[str, str], words: tuple[str, ...]
) -> None:
    assert launcher_of(given, environment) == words


def test_a_launcher_that_is_not_there_is_said() -> None:
    with pytest.raises(UsageError, match="no program 'no-such-cache'"):
        launcher_of("no-such-cache", {})


def test_a_compiler_of_several_words_becomes_one(tmp_path: Path) -> None:
    program = one_word(("/bin/echo", "two words"), tmp_path)
    assert one_word(("/bin/echo", "two words"), tmp_path) == program
    assert Path(program).name == "clang++"
    done = subprocess.run([program, "-c", "a b"], capture_output=True, text=True, check=True)
    assert done.stdout == "two words -c a b\n"


def test_only_the_compilers_commands_are_launched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CKGEN_COMPILER_LAUNCHER", raising=False)
    monkeypatch.delenv("CMAKE_CXX_COMPILER_LAUNCHER", raising=False)
    assert launcher_for(("zig", "clang"), tmp_path) is NO_LAUNCHER
    launcher = launcher_for(("zig", "clang"), tmp_path, "env")
    assert launcher.apply(("zig", "clang", "-c")) == ("env", launcher.program, "-c")
    assert launcher.apply(("zig", "ld.lld", "-shared")) == ("zig", "ld.lld", "-shared")
    assert Launcher().apply(("zig", "clang")) == ("zig", "clang")
