"""What lies in the cache is run: it is the user's alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ckgen.build.amd.place import default_prefix, known_prefix, new_prefix
from ckgen.build.cache import default_cache
from ckgen.build.packages.place import cache_room
from ckgen.model.errors import InputError
from commands import run


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CKGEN_CACHE", str(tmp_path / "deep" / "cache"))
    monkeypatch.delenv("CKGEN_AMD_PREFIX", raising=False)
    return tmp_path / "deep" / "cache"


def mode(folder: Path) -> int:
    return stat.S_IMODE(folder.stat().st_mode)


def test_it_is_created_for_the_user_alone(cache: Path) -> None:
    before = os.umask(0)
    try:
        assert default_cache() == cache / "build" and new_prefix() == cache / "amd"
    finally:
        os.umask(before)
    assert [mode(folder) for folder in (cache, cache / "build", cache / "amd")] == [0o700] * 3


def test_naming_a_prefix_creates_nothing(cache: Path) -> None:
    assert default_prefix() == known_prefix() == cache / "amd" and not cache.exists()


@pytest.mark.parametrize("allowed", [0o700, 0o755, 0o500])
def test_one_that_others_cannot_write_is_taken_as_it_is(cache: Path, allowed: int) -> None:
    (cache / "build").mkdir(parents=True)
    (cache / "build").chmod(allowed)
    assert default_cache() == cache / "build" and mode(cache / "build") == allowed


@pytest.mark.parametrize("writable", [0o770, 0o757, 0o1777])
@pytest.mark.parametrize("inner", ["", "amd"])
def test_one_that_others_can_write_is_refused(cache: Path, writable: int, inner: str) -> None:
    folder = cache / inner
    folder.mkdir(parents=True)
    folder.chmod(writable)
    for use in (known_prefix, new_prefix):
        with pytest.raises(InputError) as caught:
            use()
        (found,) = caught.value.diagnostics
        assert found.code == "B003" and found.location is not None and found.location.file == str(folder)
        assert f"mode {writable:04o}" in found.message and found.hint is not None and "chmod go-w" in found.hint


def test_one_of_another_user_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache_room("build")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(InputError, match=r"B003.*belongs to user \d+, not to you"):
        cache_room("build")


def test_a_prefix_of_its_own_is_the_users_affair(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    monkeypatch.setenv("CKGEN_AMD_PREFIX", str(tmp_path))
    assert known_prefix() == new_prefix() == tmp_path


def test_a_command_says_it_and_ends_with_3(cache: Path) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    done = run("build", "--targets", "gfx942")
    assert done.exit_code == 3 and f"error[B003] {cache}: others can write" in done.stderr
