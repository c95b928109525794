"""The command that explores: it knows every target, and says what it lacks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from parser_fuzz.targets import TARGETS

ROOT = Path(__file__).resolve().parents[2]
CPP = ROOT / "dispatcher_cpp" / "tests" / "fuzz"


def driver(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "fuzz_parsers.py"), *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_every_target_has_a_name() -> None:
    named = driver().stdout.split()
    assert [one for one in named if not one.startswith("cpp_")] == list(TARGETS)
    in_cpp = {one.removeprefix("cpp_") for one in named if one.startswith("cpp_")}
    assert in_cpp == {file.stem.removeprefix("fuzz_") for file in CPP.glob("fuzz_*.cpp")}
    assert all(f"F({name})" in (CPP / "fuzz.hpp").read_text() for name in in_cpp)
    assert {folder.name for folder in (CPP / "corpus").iterdir()} <= in_cpp


def test_what_is_missing_is_said() -> None:
    unknown = driver("tabels")
    assert unknown.returncode == 2 and "no target 'tabels'" in unknown.stderr
    without = driver("cpp_overrides", CLANGXX="/no/compiler", PATH="")
    assert without.returncode == 2 and "apt-get install clang-19" in without.stderr
