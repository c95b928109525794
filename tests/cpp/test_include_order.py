"""Which way includes go between the folders of the C++ library: to those that docs/architecture.md puts below."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

from ckgen import paths

ROOT = paths.dispatcher_dir()
SOURCES = ROOT / "src"
BELOW: dict[str, set[str]] = {
    "gpu": set(),
    "operation": {"gpu"},
    "signature": set(),
    "providers": {"gpu"},
    "registry": {"gpu", "operation", "providers"},
    "gemm": {"operation", "signature"},
    "select": {"gpu", "operation", "registry", "gemm"},
    "plan": {"gpu", "operation", "gemm", "select"},
    "run": {"gpu", "operation", "select"},
    "explain": {"operation", "select"},
    "c_api": {"gpu", "operation", "signature"},
    "python": set(),
}
OPERATIONS = {file.parent.name for file in SOURCES.glob("*/operation.cpp")}
PRODUCTS = {"grouped_gemm", "moe"}
"""Operations that are made of GEMMs, and may include `gemm`."""
GENERIC = BELOW.keys() - OPERATIONS
BELOW |= {
    operation: GENERIC - {"explain", "c_api", "python"} | ({"gemm"} if operation in PRODUCTS else set())
    for operation in OPERATIONS - {"gemm"}
}
HOST_KERNELS = {"gpu", *OPERATIONS}
"""Folders that may include backends/host: the CPU's own twins of their kernels, and what CPU this is."""
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.suffix in {".hpp", ".cpp", ".h"})


def included(file: Path) -> list[tuple[str, str]]:
    """The bracket and the name of every include."""
    return INCLUDE.findall(file.read_text(encoding="utf-8"))


def own_includes() -> Iterator[tuple[str, str]]:
    """A file of src and what it includes of src."""
    for file in files(SOURCES):
        for _, name in included(file):
            if name.startswith("src/"):
                yield str(file.relative_to(SOURCES)), name


def without_what_is_free(below: Mapping[str, Set[str]]) -> set[str]:
    """What is left when all that waits for nothing is taken away again and again: rings, and what stands on them."""
    left = dict(below)
    while free := [one for one, needed in left.items() if not needed & left.keys()]:
        for one in free:
            del left[one]
    return set(left)


def test_folders_include_what_is_below_them() -> None:
    for file, name in own_includes():
        folder, other = file.split("/")[0], name.split("/")[1]
        if file == "operations.cpp":
            assert other in {"operation", *OPERATIONS}, f"{file}: {name}"
        else:
            assert other in BELOW[folder] | {folder}, f"src/{file}: {name}"


def test_every_folder_has_its_place() -> None:
    assert {folder.name for folder in SOURCES.iterdir() if folder.is_dir()} == BELOW.keys()
    listed = re.findall(r'"src/(\w+)/operation.hpp"', (SOURCES / "operations.cpp").read_text(encoding="utf-8"))
    assert set(listed) == OPERATIONS


def test_neither_folders_nor_files_include_one_another_in_a_ring() -> None:
    assert without_what_is_free(BELOW) == set()
    named = {f"src/{file.relative_to(SOURCES)}": file for file in files(SOURCES)}
    public = (ROOT / "include").rglob("*.hpp")  # the C API is one header in parts, and each includes the whole
    named |= {str(file.relative_to(ROOT / "include")): file for file in public}
    assert without_what_is_free({name: {other for _, other in included(file)} for name, file in named.items()}) == set()


def test_generic_folders_include_no_operation_but_the_plain_gemm() -> None:
    for folder in BELOW.keys() - OPERATIONS:
        assert BELOW[folder] & OPERATIONS <= {"gemm"}, folder


def test_sources_name_headers_by_their_place() -> None:
    for file in files(SOURCES):
        folder = file.relative_to(SOURCES).parts[0]
        for bracket, name in included(file):
            if bracket == '"':
                is_host = name.startswith("backends/host/") and folder in HOST_KERNELS
                assert is_host or name.startswith("src/"), f"{file}: {name}"
                assert (ROOT / name).exists(), f"{file}: {name}"
            elif name.startswith("ckgen/"):
                assert (ROOT / "include" / name).exists(), f"{file}: {name}"


def test_backends_and_public_headers_know_nothing_of_src() -> None:
    for folder, others in (("backends", ("src",)), ("include", ("src", "backends")), ("hip", ("src", "backends"))):
        for file in files(ROOT / folder):
            parts = [set(Path(name).parts) for _, name in included(file)]
            assert not any(found & set(others) for found in parts), file


def test_only_an_operations_descriptor_names_it() -> None:
    named = re.compile(r"\bOp::[a-z_]+")
    once = {f"{operation}/operation.cpp" for operation in OPERATIONS} | {
        "select/query.hpp", "fmha/text.hpp", "fmha/builder.cpp",
    }  # fmt: skip
    for file in files(SOURCES):
        path = str(file.relative_to(SOURCES))
        if path.startswith("signature/"):
            continue  # names of operations, and what their signatures may say
        found = named.findall(file.read_text(encoding="utf-8"))
        assert len(found) == (path in once), f"src/{path}: {found}"
