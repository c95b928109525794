"""Names that users give: what C++ cannot use is refused with its reason, and what is accepted compiles."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import record_global_names as names
from ckgen.families.common import cpp
from ckgen.families.common.cpp_words import why_not_a_name

KEYWORD, MACRO = "a keyword of C++", "a macro that compilers predefine"
LIBRARY, KEPT = "a macro of the C library", "a name that the C++ standard keeps"
GLOBAL = "a name of the C library"
FORM, COMPILER = "a letter, then letters, digits and underscores", "an underscore in front, or two together"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        *((word, KEYWORD) for word in ("class", "and", "xor", "not_eq", "bitor", "compl", "co_await", "constexpr")),
        *((word, MACRO) for word in ("linux", "unix", "i386")),
        *((word, LIBRARY) for word in ("NULL", "errno", "stdin")),
        *((word, KEPT) for word in ("std", "std2", "posix", "main")),
        *((word, GLOBAL) for word in ("time", "abort", "exit", "signal", "size_t", "tm", "FILE", "EDOM", "SIGINT")),
        *((word, GLOBAL) for word in ("gamma", "index", "select", "write", "clone", "uint")),
        ("ckgen", "ckgen's own namespace"),
        ("CKGEN_VERSION_TEXT", "the form of ckgen's own macros"),
        *((word, COMPILER) for word in ("_", "_x", "_Exit", "a__b", "a__", "__linux__")),
        *((word, FORM) for word in ("", "1a", "a-b", "a::b", "a b", "é", "a\n", "a//b", 'a"')),
    ],
)
def test_what_cannot_be_a_name_is_refused_with_its_reason(name: str, reason: str) -> None:
    with pytest.raises(ValueError, match="not usable as a C\\+\\+ identifier") as caught:
        cpp.identifier(name)
    assert f"{name!r} ({reason}" in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "my_kernels",
        "ckgen_generated",
        "timer",
        "Exit",
        "signals",
        "Linux",
        "standard",
        "stdx",
        "main_",
        "x1",
        "gfx942_80",
    ],
)
def test_other_names_are_taken_as_they_are(name: str) -> None:
    assert cpp.identifier(name) == name


def compilers() -> list[str]:
    return [compiler for compiler in ("g++", "clang++") if shutil.which(compiler)]


@pytest.mark.cpp
@pytest.mark.parametrize("standard", ["c++17", "gnu++17", "gnu++20"])
def test_no_macro_that_a_compiler_predefines_is_taken(standard: str) -> None:
    for compiler in compilers():
        command = [compiler, f"-std={standard}", "-dM", "-E", "-x", "c++", "/dev/null"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        names = {line.split()[1].partition("(")[0] for line in listed.splitlines()}
        assert len(names) > 200
        assert sorted(name for name in names if why_not_a_name(name) is None) == []


@pytest.mark.cpp
@pytest.mark.parametrize(("compiler", "standard"), [("g++", "c++17"), ("clang++", "gnu++20")])
def test_no_name_that_headers_declare_is_taken(compiler: str, standard: str) -> None:
    """Where a newer C library declares more, tools/record_global_names.py records it."""
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    headers, flags = names.includes(), (*names.FLAGS, f"-std={standard}")
    words = names.words_of(compiler, headers, flags)
    taken = {word for word in words if why_not_a_name(word) is None}
    assert len(words) - len(taken) > 1500 and len(taken) > 2000
    assert names.clashing(compiler, headers, flags, taken) == []
    assert names.clashing(compiler, headers, flags, {*list(taken)[:9], "time", "EDOM"}) == ["EDOM", "time"]


WORDS = st.sampled_from(["and", "class", "int", "linux", "main", "std", "unix", "errno", "x", "_", "0", "E"])


@pytest.mark.cpp
def test_what_is_accepted_is_a_namespace_in_every_dialect(tmp_path: Path) -> None:
    accepted: set[str] = set()

    @settings(max_examples=300, derandomize=True, database=None, phases=[Phase.generate])
    @given(st.lists(WORDS, min_size=1, max_size=3).map("".join))
    def collect(name: str) -> None:
        if why_not_a_name(name) is None:
            accepted.add(name)

    collect()
    assert len(accepted) > 50
    source = tmp_path / "names.cpp"
    lines = (
        f"namespace {name} {{ constexpr int one = 1; }}\nstatic_assert({name}::one == 1);" for name in sorted(accepted)
    )
    source.write_text("#include <cerrno>\n#include <cstdio>\n" + "\n".join(lines) + "\n", encoding="utf-8")
    for compiler in compilers():
        for standard in ("c++17", "gnu++20"):
            command = [compiler, f"-std={standard}", "-fsyntax-only", str(source)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
