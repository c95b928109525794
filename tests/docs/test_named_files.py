"""Files that comments and docstrings name are there: a file that moves takes its name along."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
FOLDERS = ("benchmarks", "codegen/ckgen", "dispatcher_cpp", "docs", "emulator", "examples", "tests", "tools")
READ = ("codegen/ckgen", "dispatcher_cpp/include", "dispatcher_cpp/src", "dispatcher_cpp/backends", "emulator")
COMMENTS = {".py": re.compile(r'#.*|""".*'), ".hpp": re.compile("//.*"), ".cpp": re.compile("//.*")}
"""Of docstrings their first lines."""
NAME = re.compile(r"(?<![\w/.<])(?:[\w-]+/)*[\w-]+\.(?:py|hpp|cpp|md)\b")
OTHERS = {
    "amd_hip_ocp_host.hpp",
    "device_library.hpp",
    "gridwise_moe_gemm.hpp",
    "load_tile_transpose.hpp",
    "spec.md",
    "test/mx_mfma_op/mx_mfma_op.hpp",
}
"""Files of CK, HIP and MessagePack, and what a build writes."""


def named(text: str, suffix: str) -> Iterator[str]:
    """The files that the comments of a source name."""
    for comment in COMMENTS[suffix].findall(text):
        yield from NAME.findall(comment)


def endings(paths: Iterable[Path]) -> set[str]:
    """`c.py`, `b/c.py` and `a/b/c.py` of a/b/c.py."""
    return {"/".join(path.parts[i:]) for path in paths for i in range(len(path.parts))}


def test_files_that_comments_name_are_there() -> None:
    files = [path.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")]
    known = endings(path for path in files if path.suffix in {*COMMENTS, ".md"}) | OTHERS
    lost = {
        (path.as_posix(), name)
        for path in files
        if path.suffix in COMMENTS and path.as_posix().startswith(READ)
        for name in named((ROOT / path).read_text(encoding="utf-8"), path.suffix)
        if name not in known
    }
    assert lost == set()


def test_a_name_counts_in_comments_alone() -> None:
    assert [*named('#include "a.hpp"\nint x;  // as src/b.hpp says, and docs/e.md#here\n', ".hpp")] == [
        "src/b.hpp",
        "docs/e.md",
    ]
    assert [*named('"""Equal to c.py."""\nd = "d.py"  # see f.cpp\n', ".py")] == ["c.py", "f.cpp"]
    assert endings([Path("a/b/c.py")]) == {"c.py", "b/c.py", "a/b/c.py"}
