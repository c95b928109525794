"""Folders that killed runs left beside a tree, and those that only look like them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ckgen.emit.leftovers import OLD_SECONDS, leftovers, staging_of
from ckgen.emit.writer import exclusive

KILLED_WHILE_IT_FILLS = """
import os, signal, sys
from pathlib import Path
from ckgen.emit import writer
from ckgen.emit.manifest import MANIFEST
writer._fill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
out = Path(sys.argv[1])
with writer.exclusive(out):
    writer.publish(out, {MANIFEST: ""}, writer.Changes((MANIFEST,), (), ()))
"""


def aged(folder: Path, seconds: float) -> Path:
    folder.mkdir()
    then = time.time() - seconds
    os.utime(folder, (then, then))
    return folder


def test_what_a_killed_run_left_is_swept_by_the_next_whether_it_publishes_or_not(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = subprocess.run([sys.executable, "-c", KILLED_WHILE_IT_FILLS, str(out)], check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = leftovers(out)
    assert left.parent == tmp_path and left.name.startswith(".out.ckgen-")
    with exclusive(out):
        assert [*tmp_path.iterdir()] == []


def test_a_number_that_runs_again_keeps_nothing(tmp_path: Path) -> None:
    left = tmp_path / staging_of(tmp_path / "out").name.replace(str(os.getpid()), "1")
    left.mkdir()
    with exclusive(tmp_path / "out"):
        assert not left.exists()


@pytest.mark.parametrize("boot", ["", "-0123456789ab"])
def test_of_another_machine_or_boot_only_what_is_old_is_left_over(tmp_path: Path, boot: str) -> None:
    young = aged(tmp_path / f".out.ckgen-999999998{boot}", OLD_SECONDS - 60)
    old = aged(tmp_path / f".out.ckgen-999999999{boot}", OLD_SECONDS + 60)
    assert leftovers(tmp_path / "out") == (old,)
    with exclusive(tmp_path / "out"):
        assert [*tmp_path.iterdir()] == [young]


def test_what_is_no_folder_of_ours_beside_this_tree_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = staging_of(tmp_path / "out").name
    for name in (own.replace("out", "out2"), own.removeprefix("."), f"{own}-old", own.replace("ckgen-", "ckgen-x")):
        aged(tmp_path / name, OLD_SECONDS * 2)
    (tmp_path / own).symlink_to(tmp_path)
    (tmp_path / own.replace("ckgen-", "ckgen-9")).write_text("no folder")
    assert leftovers(tmp_path / "out") == () and leftovers(tmp_path / "none/out") == ()
    (tmp_path / own).unlink()
    aged(tmp_path / own, 0)
    assert leftovers(tmp_path / "out") == (tmp_path / own,)
    monkeypatch.setattr("os.getuid", lambda: tmp_path.stat().st_uid + 1)
    assert leftovers(tmp_path / "out") == ()
