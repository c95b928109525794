"""Preparing is idempotent, mends what is damaged, and goes on where it was killed. Downloads are those of the cache."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from amd_packages import offline
from amd_support import amd_toolchain, missing
from ckgen.build.amd.model import Kind
from ckgen.build.amd.pins import Role, pins
from ckgen.build.amd.prepare import prepare_pinned, prepare_rocm
from ckgen.build.amd.toolchain import load, read_record
from ckgen.model.errors import InputError, UsageError

pytestmark = pytest.mark.amd

PREPARE = """
import sys
from pathlib import Path
from ckgen.build.amd.prepare import prepare_pinned
prepare_pinned(Path(sys.argv[1]), lambda text: print(text, flush=True))
"""


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new prefix that shares the archives of the prepared one; pip has no index."""
    offline(monkeypatch, tmp_path / "no-index")
    folder = tmp_path / "prefix"
    (folder / "downloads").mkdir(parents=True)
    archives = amd_toolchain().prefix / "downloads"
    for pin in pins().values():
        if (archives / pin.file).is_file():
            (folder / "downloads" / pin.file).symlink_to(archives / pin.file)
    return folder


def quiet(_: str) -> None:
    """Says nothing."""


def leftovers(prefix: Path) -> list[str]:
    known = {pin.folder for pin in pins().values()} | {"downloads", "toolchain.json", ".lock", "capabilities"}
    return [path.name for path in prefix.iterdir() if path.name not in known]


def test_from_nothing_then_nothing_to_do_then_mended(prefix: Path) -> None:
    first = prepare_pinned(prefix, quiet)
    assert len(first.done) == 4 and leftovers(prefix) == []
    same = dataclasses.replace(amd_toolchain(), prefix=prefix, root=prefix)
    assert (first.toolchain.identity, first.toolchain.kind) == (same.identity, Kind.PINNED)
    started = time.monotonic()
    assert prepare_pinned(prefix, pytest.fail).done == ()
    assert time.monotonic() - started < 2
    header = first.toolchain.ck.includes[0] / "ck/ck.hpp"
    text = header.read_text()
    header.unlink()
    (line,) = prepare_pinned(prefix, quiet).done
    assert line.startswith("mended amd-aiter") and "ck.hpp is missing" in line
    assert header.read_text() == text and leftovers(prefix) == []


def test_a_killed_run_is_gone_on_with(prefix: Path) -> None:
    command = [sys.executable, "-c", PREPARE, str(prefix)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        while "clang-tidy 22.1.8: unpacking" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
    with pytest.raises(InputError):
        load(prefix)
    done = prepare_pinned(prefix, quiet).done
    assert not any("ziglang" in line for line in done) and any("amd-aiter" in line for line in done)
    assert leftovers(prefix) == []


def test_two_at_once(prefix: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PREPARE, str(prefix)]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
    said = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0]
    assert sum(text.count("ziglang 0.17.0: unpacking") for text in said) == 1
    load(prefix)


def test_the_older_tree_comes_when_asked_for(prefix: Path) -> None:
    if not (prefix / "downloads" / pins()[Role.OLDER_CK].file).exists():
        missing("the older CK tree is not prepared: run `ckgen toolchain amd --also older-ck`")
    done = prepare_pinned(prefix, quiet, [Role.OLDER_CK]).done
    assert len(done) == 5


def test_a_rocm_that_lacks_a_part_is_not_recorded(prefix: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        prepare_rocm(prefix, tmp_path, None, quiet)
    assert read_record(prefix) is None


def test_other_machines_are_told_so(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(UsageError, match=r"aarch64.*--rocm"):
        prepare_pinned(prefix, quiet)
