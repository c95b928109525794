"""The store: what makes an entry the right one, and what becomes of damaged ones."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from ckgen.build.cache import Cache, default_cache
from ckgen.build.entry import RECORD
from ckgen.build.job import Job, Root
from ckgen.build.pool import Limits, Outcome, run_jobs
from fake_compiler import FakeCompiler


@pytest.fixture
def compiler(tmp_path: Path) -> FakeCompiler:
    return FakeCompiler(tmp_path / "tools")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def made(job: Job, cache: Cache) -> Outcome:
    found: list[Outcome] = []
    run_jobs([job], cache, Limits(jobs=1, memory_mb=1 << 20), found.append, lambda standing: None)
    return found[0]


def test_the_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CKGEN_CACHE", str(tmp_path))
    assert default_cache() == tmp_path / "build"


def test_an_entry_whose_output_is_gone_is_made_anew(compiler: FakeCompiler, cache: Cache) -> None:
    job = compiler.job("text")
    made(job, cache).entry.output("unit.o").unlink()
    assert cache.find(job) is None
    assert not made(job, cache).cached and cache.find(job) is not None


def test_an_output_of_which_a_bit_has_changed_is_made_anew(compiler: FakeCompiler, cache: Cache) -> None:
    job = compiler.job("text")
    place = made(job, cache).entry.output("unit.o")
    status, data = place.stat(), place.read_bytes()
    place.write_bytes(bytes([data[0] ^ 1]) + data[1:])
    os.utime(place, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert cache.find(job) is None
    again = made(job, cache)
    assert not again.cached and again.entry.output("unit.o").read_bytes() == data
    assert made(job, cache).cached


def test_a_record_of_which_a_bit_has_changed_is_made_anew(compiler: FakeCompiler, cache: Cache) -> None:
    job = compiler.job("text")
    record = made(job, cache).entry.folder / RECORD
    text = record.read_text()
    record.write_text(text.replace('"code":0', '"code":1'))
    assert record.read_text() != text and cache.find(job) is None
    assert not made(job, cache).cached and made(job, cache).cached


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "other"}', '{"schema": "ckgen.build_entry/1"}'])
def test_a_record_that_is_none_is_made_anew(compiler: FakeCompiler, cache: Cache, text: str) -> None:
    job = compiler.job("text")
    (made(job, cache).entry.folder / RECORD).write_text(text)
    assert cache.find(job) is None
    assert not made(job, cache).cached and made(job, cache).cached


def test_a_changed_header_makes_it_anew_and_the_old_one_serves_again(
    compiler: FakeCompiler, cache: Cache, tmp_path: Path
) -> None:
    header, unread = tmp_path / "read.hpp", tmp_path / "unread.hpp"
    for path in (header, unread):
        path.write_text("one")
        os.utime(path, (1, 1))
    job = compiler.job(f"// include {header}")
    assert [header.path for header in made(job, cache).entry.headers] == [str(header)]
    unread.write_text("two")
    assert made(job, cache).cached
    header.write_text("three")
    os.utime(header, (2, 2))
    assert not made(job, cache).cached and made(job, cache).cached
    header.write_text("one")
    os.utime(header, (3, 3))
    assert made(job, cache).cached, "by what a header holds, not by its time"
    header.unlink()
    assert cache.find(job) is None


def test_a_header_that_changes_during_the_compile_is_not_trusted(
    compiler: FakeCompiler, cache: Cache, tmp_path: Path
) -> None:
    header = tmp_path / "late.hpp"
    header.write_text("one")
    os.utime(header, (4_000_000_000, 4_000_000_000))
    job = compiler.job(f"// include {header}")
    assert made(job, cache).entry.ok
    assert cache.find(job) is None


def test_without_a_list_of_headers_all_own_ones_count(compiler: FakeCompiler, cache: Cache, tmp_path: Path) -> None:
    own = tmp_path / "own"
    (own / "deep").mkdir(parents=True)
    header = own / "deep" / "x.hpp"
    header.write_text("one")
    os.utime(header, (1, 1))
    job = compiler.job("// do exit 1\n", own=(own,), depfile="never.d")
    assert [header.path for header in made(job, cache).entry.headers] == [str(header)]
    assert made(job, cache).cached
    header.write_text("changed")
    os.utime(header, (2, 2))
    assert not made(job, cache).cached


def test_a_header_stands_in_front_of_a_fixed_one_of_its_name(
    compiler: FakeCompiler, cache: Cache, tmp_path: Path
) -> None:
    library, front, new = (tmp_path / name for name in ("library", "front", "new"))
    for folder in (library, front, new):
        folder.mkdir()
        (folder / "x.hpp").write_text("one")
        os.utime(folder / "x.hpp", (1, 1))
    text = f"// include {front / 'x.hpp'}\n// include {library / 'x.hpp'}\n"

    def job(*own: Path) -> Job:
        return compiler.job(text, fixed=(Root("library", library),), own=own)

    made(job(front), cache)
    assert made(job(front), cache).cached
    assert cache.find(job(new, front)) is None, "what was not there when it was compiled"
    (front / "x.hpp").write_text("two")
    os.utime(front / "x.hpp", (2, 2))
    assert cache.find(job(front)) is None


def test_a_lock_is_one_processes_and_goes_with_it(compiler: FakeCompiler, cache: Cache) -> None:
    job = compiler.job("text")
    lock = cache.try_lock(job)
    assert lock is not None and cache.try_lock(job) is None
    lock.release()
    again = cache.try_lock(job)
    assert again is not None
    again.release()
    assert list((cache.folder / "locks").iterdir()) == []


def test_sweeping_spares_what_is_new_or_in_use(compiler: FakeCompiler, cache: Cache) -> None:
    used, fresh = cache.scratch(), cache.scratch()
    os.close(fresh.fd)
    lock = cache.try_lock(compiler.job("text"))
    assert lock is not None
    dead = cache.folder / "work" / "dead"
    shutil.copytree(fresh.path, dead)
    for path in (used.path, dead, lock.place):
        os.utime(path, (0, 0))
    cache.sweep()
    assert used.path.exists() and fresh.path.exists() and lock.place.exists() and not dead.exists()
    cache.discard(used)
    lock.release()
