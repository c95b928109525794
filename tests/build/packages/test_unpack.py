"""Unpacking takes what is pinned, at once or not at all, and damage is seen."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from amd_packages import sdist, wheel
from ckgen.build.amd.trees import ck_tree_in, ck_tree_of
from ckgen.build.packages.errors import toolchain_error
from ckgen.build.packages.pin import Pin
from ckgen.build.packages.unpack import clear_unfinished, tree_digest, unpack, unpacked
from ckgen.model.errors import InputError

FILES = {"tiny/program": "run", "tiny/include/a.hpp": "a", "tiny/include/b/c.hpp": "c", "other/x.txt": "x"}


@pytest.fixture
def pin(tmp_path: Path) -> Pin:
    return wheel(tmp_path, "tiny", FILES, unpack=("tiny/program", "tiny/include/"))


def listed(folder: Path) -> list[str]:
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in found if not name.startswith(".ckgen"))


def test_only_what_is_pinned_is_unpacked_with_its_modes(pin: Pin, tmp_path: Path) -> None:
    package = unpack(pin, tmp_path / pin.file, tmp_path / "prefix")
    assert listed(package.folder) == ["tiny/include/a.hpp", "tiny/include/b/c.hpp", "tiny/program"]
    assert os.access(package.folder / "tiny/program", os.X_OK)
    assert not os.access(package.folder / "tiny/include/a.hpp", os.X_OK)
    assert [path.name for path in (tmp_path / "prefix").iterdir()] == [pin.folder]
    again = unpacked(pin, tmp_path / "prefix")
    assert again is not None and again.damage() is None and again.digests == package.digests


def test_an_sdists_first_folder_is_left_off(tmp_path: Path) -> None:
    pin = sdist(tmp_path, "tiny_source", {"src/a.txt": "a", "setup.py": ""}, unpack=("src/",))
    assert listed(unpack(pin, tmp_path / pin.file, tmp_path / "prefix").folder) == ["src/a.txt"]


@pytest.mark.parametrize(("name", "change"), [("a.hpp", "shorter"), ("a.hpp", "same size"), ("b/c.hpp", "gone")])
def test_damage_is_seen(pin: Pin, tmp_path: Path, name: str, change: str) -> None:
    package = unpack(pin, tmp_path / pin.file, tmp_path / "prefix")
    path = package.folder / "tiny/include" / name
    if change == "gone":
        path.unlink()
    else:
        path.write_text("" if change == "shorter" else "b")
        os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
    damage = package.damage()
    assert damage is not None and name in damage


def test_a_package_of_another_archive_or_of_other_files_is_none(pin: Pin, tmp_path: Path) -> None:
    unpack(pin, tmp_path / pin.file, tmp_path / "prefix")
    assert unpacked(pin, tmp_path / "prefix") is not None
    assert unpacked(dataclasses.replace(pin, sha256="1" * 64), tmp_path / "prefix") is None
    assert unpacked(dataclasses.replace(pin, unpack=("tiny/",)), tmp_path / "prefix") is None
    (tmp_path / "prefix" / pin.folder / ".ckgen-package.json").write_text("{")
    assert unpacked(pin, tmp_path / "prefix") is None


def test_a_failure_leaves_what_was_there(pin: Pin, tmp_path: Path) -> None:
    unpack(pin, tmp_path / pin.file, tmp_path / "prefix")
    with pytest.raises(InputError) as caught:
        unpack(dataclasses.replace(pin, unpack=("absent/",)), tmp_path / pin.file, tmp_path / "prefix")
    assert [found.code for found in caught.value.diagnostics] == ["X004"]
    package = unpacked(pin, tmp_path / "prefix")
    assert package is not None and package.damage() is None
    assert [path.name for path in (tmp_path / "prefix").iterdir()] == [pin.folder]


def test_a_path_that_leads_out_is_refused(tmp_path: Path) -> None:
    pin = wheel(tmp_path, "tiny", {"tiny/../../evil": "x"}, unpack=("tiny/",))
    with pytest.raises(InputError, match="leads out"):
        unpack(pin, tmp_path / pin.file, tmp_path / "prefix")
    assert not (tmp_path / "evil").exists()


def test_what_a_killed_run_left_is_removed(pin: Pin, tmp_path: Path) -> None:
    package = unpack(pin, tmp_path / pin.file, tmp_path / "prefix")
    (tmp_path / "prefix" / ".unpacking-x").mkdir()
    clear_unfinished(tmp_path / "prefix")
    assert [path.name for path in (tmp_path / "prefix").iterdir()] == [package.folder.name]


def test_a_trees_digest_is_of_paths_and_contents(tmp_path: Path) -> None:
    files = {"t/include/ck/ck.hpp": "1", "t/include/ck_tile/core.hpp": "2", "t/include/x.hpp": "3"}
    first = wheel(tmp_path / "one", "tree", files, unpack=("t/",))
    tree = ck_tree_of(unpack(first, tmp_path / "one" / first.file, tmp_path / "one"), "t", None)
    found = ck_tree_in(tree.includes[0].parent)
    assert found == tree
    (tree.includes[0] / "ck/ck.hpp").write_text("4")
    changed = ck_tree_in(tree.includes[0].parent)
    assert changed is not None and changed.id != tree.id
    assert tree_digest([("a", "1"), ("b", "2")]) == tree_digest([("b", "2"), ("a", "1")]) != tree_digest([("a", "2")])
    assert ck_tree_in(tmp_path / "nowhere") is None


def test_errors_say_place_and_next_step(tmp_path: Path) -> None:
    text = str(toolchain_error("X001", "nothing here", tmp_path, hint="run it"))
    assert text.splitlines()[0] == f"error[X001] {tmp_path}: nothing here" and "run it" in text
