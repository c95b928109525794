from __future__ import annotations

import errno
import os
from collections.abc import Callable
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

import pytest

from ckgen.emit import writer
from ckgen.emit.leftovers import staging_of
from ckgen.emit.manifest import MANIFEST, Manifest, digest
from ckgen.emit.writer import Changes, compare, exclusive, publish
from ckgen.model.errors import InputError

OLD = {"a/keep.hpp": "keep\n", "a/change.hpp": "old\n", "b/gone.cpp": "gone\n"}
NEW = {"a/keep.hpp": "keep\n", "a/change.hpp": "new\n", "c/added.cpp": "added\n"}


def with_manifest(texts: dict[str, str]) -> dict[str, str]:
    files = {path: digest(text.encode()) for path, text in texts.items()}
    return texts | {MANIFEST: Manifest("g", {}, {}, files, {}).to_text()}


def write(out: Path, texts: dict[str, str]) -> Changes:
    tree = with_manifest(texts)
    changes = compare(out, tree)
    publish(out, tree, changes)
    return changes


def read(out: Path) -> dict[str, str]:
    files = (path for path in out.rglob("*") if path.is_file())
    return {path.relative_to(out).as_posix(): path.read_text() for path in files}


def test_unchanged_files_keep_their_times_and_a_second_run_touches_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, OLD)
    before = {path: path.stat().st_mtime_ns for path in (out, *out.rglob("*"))}
    assert not write(out, OLD)
    assert {path: path.stat().st_mtime_ns for path in (out, *out.rglob("*"))} == before
    changes = write(out, NEW)
    assert (changes.added, changes.removed) == (("c/added.cpp",), ("b/gone.cpp",))
    assert set(changes.changed) == {"a/change.hpp", MANIFEST}
    assert read(out) == with_manifest(NEW)
    assert (out / "a/keep.hpp").stat().st_mtime_ns == before[out / "a/keep.hpp"]
    assert not (out / "b").exists()


def test_files_that_no_manifest_lists_are_never_removed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, OLD)
    (out / "b/notes.txt").write_text("mine")
    (out / "empty").mkdir()
    (out / "link").symlink_to("a/keep.hpp")
    write(out, NEW)
    assert (out / "b/notes.txt").read_text() == "mine"
    assert (out / "empty").is_dir() and os.readlink(out / "link") == "a/keep.hpp"  # noqa: PTH115


def test_a_foreign_file_in_the_way_is_an_error_and_stays(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, OLD)
    (out / "c").mkdir()
    (out / "c/added.cpp").write_text("mine")
    with pytest.raises(InputError) as error:
        write(out, NEW)
    assert str(error.value) == (
        f"error[G002] {out}/c/added.cpp: a file that ckgen did not write is in the way\n"
        "            move it away, or choose another --out"
    )
    assert read(out) == with_manifest(OLD) | {"c/added.cpp": "mine"}


def test_a_link_or_a_folder_in_place_of_a_file_is_foreign(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, OLD)
    (out / "a/keep.hpp").unlink()
    (out / "a/keep.hpp").symlink_to(out / "a/change.hpp")
    (out / "b/gone.cpp").unlink()
    (out / "b/gone.cpp").mkdir()
    with pytest.raises(InputError) as error:
        compare(out, with_manifest(OLD))
    assert [str(one.location) for one in error.value.diagnostics] == [f"{out}/a/keep.hpp", f"{out}/b/gone.cpp"]
    (out / "a/keep.hpp").unlink()
    (out / "a/keep.hpp").symlink_to("nowhere")
    (out / "b/gone.cpp").rmdir()
    with pytest.raises(InputError) as error:
        compare(out, with_manifest(OLD))
    assert [str(one.location) for one in error.value.diagnostics] == [f"{out}/a/keep.hpp"]


def test_changes_are_sorted_and_of_files_that_are_there() -> None:
    assert [bool(Changes(*one)) for one in (((), (), ()), (("a",), (), ()), ((), ("a",), ()), ((), (), ("a",)))] == [
        False, True, True, True,
    ]  # fmt: skip
    own = Changes(("a", MANIFEST), (MANIFEST, "b"), ("c", "d"))
    assert own.but_for_the_manifest() == Changes(("a",), ("b",), ("c", "d"))
    assert not Changes((MANIFEST,), (), ()).but_for_the_manifest()


def test_a_file_that_is_gone_is_added_again_and_not_removed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, OLD)
    for path in ("a/keep.hpp", "b/gone.cpp"):
        (out / path).unlink()
    assert compare(out, with_manifest(NEW)) == Changes(("a/keep.hpp", "c/added.cpp"), ("a/change.hpp", MANIFEST), ())


def test_folders_in_one_another_come_in_any_order_and_keep_what_is_foreign(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "er" / "out"
    first = {"a/b/c.hpp": "1", "a/d.hpp": "2", "e.hpp": "3", "f/g/h/i.hpp": "4", "f/j.hpp": "5"}
    with exclusive(out):
        write(out, first)
    assert read(out) == with_manifest(first)
    (out / "x/y/z").mkdir(parents=True)
    (out / "p/q").mkdir(parents=True)
    for name in ("p/q/one.txt", "p/q/two.txt", "p/three.txt"):
        (out / name).write_text(name)
    (out / "k").mkdir()
    (out / "folders").symlink_to("p")
    (out / "nowhere").symlink_to("nothing/there")
    second = {"a/b/c.hpp": "1", "k/l.hpp": "6"}
    write(out, second)
    own = {name: name for name in ("p/q/one.txt", "p/q/two.txt", "p/three.txt")}
    assert {path: text for path, text in read(out).items() if "folders" not in path} == with_manifest(second) | own
    assert (os.readlink(out / "folders"), os.readlink(out / "nowhere")) == ("p", "nothing/there")  # noqa: PTH115
    assert (out / "x/y/z").is_dir() and not (out / "f").exists() and not (out / "a/d.hpp").exists()
    assert os.listdir(out.parent) == ["out"]  # noqa: PTH208


def test_a_tree_without_a_manifest_is_all_foreign(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "a").write_text("a file where a folder must be")
    with pytest.raises(InputError):
        write(out, OLD)
    assert read(out) == {"a": "a file where a folder must be"}


OURS = with_manifest(OLD)[MANIFEST]


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2]",
        "null",
        "{",
        "[" * 100_000,
        '{"name": "a web app"}',
        OURS.replace("manifest/2", "manifest/9"),
        OURS.replace('"options": {}', '"options": []'),
        OURS.replace("a/keep.hpp", "../keep.hpp"),
        OURS.replace("a/keep.hpp", "/keep.hpp"),
        OURS.replace("a/keep.hpp", ""),
    ],
)
def test_a_manifest_that_is_not_ours_stops_everything(tmp_path: Path, text: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / MANIFEST).write_text(text)
    with pytest.raises(InputError) as error:
        write(tmp_path / "out", OLD)
    assert error.value.diagnostics[0].code == "G001"


def test_a_place_that_cannot_be_written_is_a_located_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as error:
        write(tmp_path / "file" / "out", OLD)
    assert error.value.diagnostics[0].code == "G003"
    out = tmp_path / "file" / "er" / "out"
    with pytest.raises(InputError) as error, exclusive(out):
        pass
    assert str(error.value) == (
        f"error[G003] {out}: cannot write the tree: Not a directory\n"
        "            choose an --out that can be written; the old tree is as it was"
    )
    with pytest.raises(InputError, match=r"G003.*: cannot write the tree: No such file or directory"):
        publish(tmp_path / "none/out", with_manifest(OLD), Changes(("a",), (), ()))


def test_a_file_system_without_locks_goes_unguarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOTSUP, "no locks here")

    monkeypatch.setattr(writer, "flock", refuse)
    staging_of(tmp_path / "out").mkdir()
    with exclusive(tmp_path / "out"):
        assert staging_of(tmp_path / "out").is_dir()
    staging_of(tmp_path / "out").rmdir()
    with exclusive(tmp_path / "out"):
        write(tmp_path / "out", OLD)
    assert read(tmp_path / "out") == with_manifest(OLD)


class Interrupt(BaseException):
    """Not an Exception, as a signal is none."""


@pytest.mark.parametrize("exists", [False, True])
def test_interrupted_anywhere_leaves_the_old_tree_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    def run(step: int) -> bool:
        out = tmp_path / f"run{step}" / "out"
        out.parent.mkdir()
        if exists:
            write(out, OLD)
        calls = 0

        def stop_at(real: Callable[..., object]) -> Callable[..., object]:
            def call(*args: object, **kwargs: object) -> object:
                nonlocal calls
                calls += 1
                if calls == step:
                    raise Interrupt
                return real(*args, **kwargs)

            return call

        with monkeypatch.context() as patch:
            patch.setattr(writer.os, "link", stop_at(os.link))
            patch.setattr(Path, "mkdir", stop_at(Path.mkdir))
            patch.setattr(Path, "write_bytes", stop_at(Path.write_bytes))
            patch.setattr(Path, "rename", stop_at(Path.rename))
            patch.setattr(writer, "_exchange", stop_at(writer._exchange))
            try:
                write(out, NEW)
            except Interrupt:
                tree = read(out) if out.exists() else {}
                assert tree in ((with_manifest(OLD) if exists else {}), with_manifest(NEW))
                return False
        assert read(out) == with_manifest(NEW)
        return True

    finished = [run(step) for step in range(1, 40)]
    assert any(finished) and not finished[0]


def swapped(folder: Path, new: Path, old: Path) -> dict[str, str]:
    """Two folders of a file each, exchanged; then all that is in `folder`."""
    for place in (new, old):
        place.mkdir()
        (place / "name").write_text(place.name)
    writer._exchange(new, old)
    return read(folder)


def test_the_kernel_exchanges_two_folders_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a rename is not atomic")

    monkeypatch.setattr(Path, "rename", refuse)
    assert swapped(tmp_path, tmp_path / "new", tmp_path / "old") == {"old/name": "new", "new/name": "old"}
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    assert swapped(Path(), Path("new"), Path("old")) == {"old/name": "new", "new/name": "old"}


def without(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """A kernel whose exchange ends with that error."""

    class Libc:
        @staticmethod
        def renameat2(*_: object) -> int:
            return -1

    monkeypatch.setattr(writer.ctypes, "CDLL", lambda *_, **__: Libc)
    monkeypatch.setattr(writer.ctypes, "get_errno", lambda: code)


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOSYS, errno.ENOTSUP])
def test_without_an_atomic_exchange_renames_serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    without(monkeypatch, code)
    assert swapped(tmp_path, tmp_path / "new", tmp_path / "old") == {"old/name": "new", "new/name": "old"}


def test_without_an_exchange_in_the_c_library_renames_serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer.ctypes, "CDLL", lambda *_, **__: object())
    assert swapped(tmp_path, tmp_path / "new", tmp_path / "old") == {"old/name": "new", "new/name": "old"}


def test_an_exchange_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        writer._exchange(tmp_path / "none", tmp_path / "nothing")
    assert missing.value.filename == str(tmp_path / "nothing")
    write(tmp_path / "out", OLD)
    without(monkeypatch, errno.EACCES)
    with pytest.raises(InputError, match=r"G003.*/out: cannot write the tree: Permission denied"):
        write(tmp_path / "out", NEW)
    assert read(tmp_path / "out") == with_manifest(OLD)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_only_one_run_at_a_time_publishes_beside_a_folder(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    with exclusive(out):
        other = os.open(out.parent, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            flock(other, LOCK_EX | LOCK_NB)
    flock(other, LOCK_EX | LOCK_NB)
    os.close(other)
    assert [*out.parent.iterdir()] == []


@pytest.mark.parametrize("atomic", [True, False])
def test_a_file_put_into_the_old_tree_at_the_last_moment_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, atomic: bool
) -> None:
    out = tmp_path / "out"
    if not atomic:
        without(monkeypatch, errno.ENOSYS)
    write(out, OLD)
    exchange = writer._exchange

    def put_then_exchange(new: Path, old: Path) -> None:
        (old / "late.txt").write_text("mine")
        exchange(new, old)

    monkeypatch.setattr(writer, "_exchange", put_then_exchange)
    write(out, NEW)
    assert read(out) == with_manifest(NEW) | {"late.txt": "mine"}


def test_without_hard_links_files_are_copied_with_their_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    write(out, OLD)
    before = (out / "a/keep.hpp").stat().st_mtime_ns
    (out / "link").symlink_to("a/keep.hpp")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr(writer.os, "link", refuse)
    write(out, NEW)
    assert os.readlink(out / "link") == "a/keep.hpp"  # noqa: PTH115
    (out / "link").unlink()
    assert read(out) == with_manifest(NEW) and (out / "a/keep.hpp").stat().st_mtime_ns == before
