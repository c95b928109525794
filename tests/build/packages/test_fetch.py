"""Pinned archives come through pip, are checked, are kept, and never run."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from amd_packages import offline, sdist, wheel
from ckgen.build.packages.fetch import clear_unfinished, digest_of, fetch
from ckgen.model.errors import InputError, UsageError


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "index"
    offline(monkeypatch, folder)
    return folder


def test_a_wheel_is_downloaded_once(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pin = wheel(index, "tiny", {"tiny/a.txt": "a"}, unpack=("tiny/",))
    archive = fetch(pin, tmp_path / "downloads")
    assert digest_of(archive) == pin.sha256
    assert [path.name for path in (tmp_path / "downloads").iterdir()] == [pin.file]
    offline(monkeypatch, tmp_path / "empty")
    assert fetch(pin, tmp_path / "downloads") == archive


def test_a_damaged_archive_is_downloaded_again(index: Path, tmp_path: Path) -> None:
    pin = wheel(index, "tiny", {"tiny/a.txt": "a"}, unpack=("tiny/",))
    archive = fetch(pin, tmp_path / "downloads")
    archive.write_bytes(archive.read_bytes()[:-1])
    assert digest_of(fetch(pin, tmp_path / "downloads")) == pin.sha256


def test_an_sdist_is_downloaded_without_running_its_setup(index: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    setup = f"open({str(ran)!r}, 'w')\nraise SystemExit('setup.py ran')\n"
    pin = sdist(index, "tiny_source", {"setup.py": setup, "src/a.txt": "a"}, unpack=("src/",))
    assert digest_of(fetch(pin, tmp_path / "downloads")) == pin.sha256
    assert not ran.exists()


def test_another_file_of_the_same_name_is_refused(index: Path, tmp_path: Path) -> None:
    pin = dataclasses.replace(wheel(index, "tiny", {"tiny/a.txt": "a"}, unpack=("tiny/",)), sha256="0" * 64)
    with pytest.raises(InputError) as caught:
        fetch(pin, tmp_path / "downloads")
    (found,) = caught.value.diagnostics
    assert found.code == "X002" and "HASH" in "\n".join(found.detail).upper()
    assert list((tmp_path / "downloads").iterdir()) == []


def test_what_pip_said_is_in_the_error(index: Path, tmp_path: Path) -> None:
    pin = dataclasses.replace(wheel(index, "tiny", {}, unpack=()), name="absent", file="absent-1.2-py3-none-any.whl")
    with pytest.raises(InputError) as caught:
        fetch(pin, tmp_path / "downloads")
    (found,) = caught.value.diagnostics
    assert found.code == "X002" and any("absent" in line for line in found.detail)
    assert found.hint is not None and " -m pip download" in found.hint


def test_a_python_without_pip_says_what_to_do(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pin = wheel(index, "tiny", {"tiny/a.txt": "a"}, unpack=("tiny/",))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="ensurepip"):
        fetch(pin, tmp_path / "downloads")


def test_what_a_killed_run_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".part-x").mkdir()
    (tmp_path / "kept.whl").write_text("")
    clear_unfinished(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["kept.whl"]
