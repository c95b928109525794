"""The command that explores: it knows every target, and says what it lacks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from parser_fuzz.targets import TARGETS

ROOT = Path(__file__).resolve().parents[2]
CPP = (ROOT / "dispatcher_cpp" / "tests" / "fuzz", ROOT / "tests" / "emulator" / "core")


def driver(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "fuzz_parsers.py"), *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_every_target_has_a_name() -> None:
    named = driver().stdout.split()
    assert [one for one in named if not one.startswith("cpp_")] == list(TARGETS)
    in_cpp = {one.removeprefix("cpp_") for one in named if one.startswith("cpp_")}
    files = [file for folder in CPP for file in folder.glob("fuzz_*.cpp")]
    assert in_cpp == {file.stem.removeprefix("fuzz_") for file in files}
    for file in files:
        built = (file.parent / "CMakeLists.txt").read_text()
        assert re.search(rf"\b{file.stem.removeprefix('fuzz_')}\b", built), file
    assert {folder.name for place in CPP for folder in place.glob("corpus/*")} <= in_cpp


def test_what_is_missing_is_said() -> None:
    unknown = driver("tabels")
    assert unknown.returncode == 2 and "no target 'tabels'" in unknown.stderr
    without = driver("cpp_overrides", CLANGXX="/no/compiler", PATH="")
    assert without.returncode == 2 and "apt-get install clang-19" in without.stderr
