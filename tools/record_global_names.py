"""Record the names that C++ finds in its global namespace into codegen/ckgen/families/common/global_names.txt.

usage: record_global_names.py

A name is recorded where g++ or clang++ does not compile a namespace of that name behind the headers. Candidates are all
words of the preprocessed headers, and their macros. Look at the difference before committing it.
"""

from __future__ import annotations

import itertools
import re
import subprocess
import tempfile
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from ckgen import paths
from ckgen.families.common import cpp_words

C_HEADERS = (
    "assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "limits", "locale", "math", "setjmp", "signal",
    "stdarg", "stddef", "stdint", "stdio", "stdlib", "string", "tgmath", "time", "uchar", "wchar", "wctype",
)  # fmt: skip
"""Of C17, those that C++17 has too."""
CKGEN_HEADERS = ("ckgen/ckgen.hpp", "ckgen/device_code.hpp", "ckgen/host_launch.hpp")
"""All that generated code includes."""
FLAGS = (f"-I{paths.dispatcher_dir() / 'include'}",)
COMPILERS, STANDARDS = ("g++", "clang++"), ("gnu++17", "gnu++20")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_AT = re.compile(r"names\.cpp:(\d+):\d+: (?:fatal )?error")


def includes() -> list[str]:
    """The lines that include the headers."""
    return [f"#include <{name}>" for name in (*CKGEN_HEADERS, *(f"{name}.h" for name in C_HEADERS))]


def words_of(compiler: str, headers: Sequence[str], flags: Sequence[str]) -> set[str]:
    """Every word of the headers that may be a name, and their macros."""
    command = [compiler, *flags, "-E", "-x", "c++", "-"]
    text, macros = (
        subprocess.run([*command, more], input="\n".join(headers), capture_output=True, text=True, check=True).stdout
        for more in ("-P", "-dM")
    )
    found = set(_WORD.findall(text)) | {line.split()[1].partition("(")[0] for line in macros.splitlines()}
    return {word for word in found if "__" not in word and not word.startswith("_")}


def clashing(compiler: str, headers: Sequence[str], flags: Sequence[str], words: Iterable[str]) -> list[str]:
    """Those that the compiler does not take as a namespace behind the headers, in order."""
    tried = sorted(words)
    uses = (
        f'namespace {word} {{ constexpr int own_{at} = 1; }} static_assert(::{word}::own_{at} == 1, "");'
        for at, word in enumerate(tried)
    )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "names.cpp"
        source.write_text("\n".join([*headers, *uses]) + "\n", encoding="ascii")
        unlimited = "-fmax-errors=0" if compiler == "g++" else "-ferror-limit=0"
        command = [compiler, *flags, unlimited, "-fsyntax-only", str(source)]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    lines = sorted({int(line) for line in _AT.findall(said)})
    if lines and lines[0] <= len(headers):
        raise RuntimeError(said)
    return [tried[line - len(headers) - 1] for line in lines]


def main() -> None:
    headers, names = includes(), set[str]()
    for compiler, standard in itertools.product(COMPILERS, STANDARDS):
        flags = (*FLAGS, f"-std={standard}")
        words = words_of(compiler, headers, flags) - set(cpp_words.WORDS) - names
        names |= {
            word for word in clashing(compiler, headers, flags, words) if not word.startswith(cpp_words.OWN_MACROS)
        }
    versions = (("g++", "-dumpfullversion"), ("clang++", "-dumpversion"), ("getconf", "GNU_LIBC_VERSION"))
    gcc, clang, libc = (
        subprocess.run(one, capture_output=True, text=True, check=True).stdout.strip() for one in versions
    )
    told = f"# Recorded by tools/record_global_names.py, of g++ {gcc}, clang++ {clang} and {libc}."
    lines = [told, *textwrap.wrap(" ".join(sorted(names)), 120, break_on_hyphens=False)]
    cpp_words.GLOBAL_NAMES.write_text("\n".join(lines) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
