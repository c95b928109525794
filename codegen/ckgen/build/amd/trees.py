"""CK trees and our own headers as files: where they are, and the digests that stand for what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ckgen import paths
from ckgen.build.amd.model import CkTree
from ckgen.build.packages.fetch import digest_of
from ckgen.build.packages.unpack import Package, tree_digest

_FOLDERS = ("ck", "ck_tile")
_MARKS = ("ck/ck.hpp", "ck_tile/core.hpp")


def hip_headers() -> Path:
    """ckgen's own HIP headers, for a compiler that comes without."""
    return paths.dispatcher_dir() / "hip" / "include"


def folder_id(*folders: Path) -> str:
    """The digest of every file beneath the folders, by its path in its folder."""
    return tree_digest(pair for folder in folders for pair in _digests(folder, folder))


def ck_tree_in(folder: Path) -> CkTree | None:
    """The tree whose ck/ and ck_tile/ lie in the folder or in its include/; None where neither does."""
    for place in (folder / "include", folder):
        if any((place / mark).is_file() for mark in _MARKS):
            pairs = (pair for name in _FOLDERS for pair in _digests(place, place / name))
            library = place.parent / "library" / "include"
            return CkTree((place, *([library] if library.is_dir() else [])), tree_digest(pairs))
    return None


def ck_tree_of(package: Package, composable: str, instance_tables: str | None) -> CkTree:
    """The tree in an unpacked archive; its digest is that which `ck_tree_in` would make of the same files."""
    base = package.folder / composable
    library = base / "library" / "include"
    return CkTree(
        (base / "include", *([library] if library.is_dir() else [])),
        package.tree_id(*(f"{composable}/include/{name}" for name in _FOLDERS)),
        package.folder / instance_tables if instance_tables else None,
    )


def _digests(base: Path, folder: Path) -> Iterator[tuple[str, str]]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.relative_to(base).as_posix(), digest_of(path)
