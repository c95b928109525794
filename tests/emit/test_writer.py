from __future__ import annotations

import errno
import os
from collections.abc import Callable
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

import pytest

from ckgen.emit import writer
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
    assert [d.code for d in error.value.diagnostics] == ["G002"]
    assert read(out) == with_manifest(OLD) | {"c/added.cpp": "mine"}


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


def test_without_an_atomic_exchange_two_renames_serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "out", OLD)
    monkeypatch.setattr(writer.ctypes, "get_errno", lambda: errno.ENOSYS)
    monkeypatch.setattr(writer, "_AT_FDCWD", -1)
    write(tmp_path / "out", NEW)
    assert read(tmp_path / "out") == with_manifest(NEW)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_what_a_killed_run_left_is_swept(tmp_path: Path) -> None:
    leftover = tmp_path / ".out.ckgen-999999999"
    (leftover / "a").mkdir(parents=True)
    write(tmp_path / "out", OLD)
    assert not leftover.exists()


def test_what_a_killed_run_of_the_same_number_left_is_swept(tmp_path: Path) -> None:
    leftover = tmp_path / f".out.ckgen-{os.getpid()}"
    (leftover / "a").mkdir(parents=True)
    write(tmp_path / "out", OLD)
    assert read(tmp_path / "out") == with_manifest(OLD) and not leftover.exists()


def test_what_a_killed_run_left_is_swept_even_when_nothing_changes(tmp_path: Path) -> None:
    write(tmp_path / "out", OLD)
    (tmp_path / ".out.ckgen-999999999").mkdir()
    assert not write(tmp_path / "out", OLD)
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


def test_a_file_put_into_the_old_tree_at_the_last_moment_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
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

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr(writer.os, "link", refuse)
    write(out, NEW)
    assert read(out) == with_manifest(NEW) and (out / "a/keep.hpp").stat().st_mtime_ns == before
