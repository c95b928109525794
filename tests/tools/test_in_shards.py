"""Test programs run in shards: every shard runs, one that fails fails all, and only those that fail say why."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

RUNNER = Path(__file__).parents[2] / "tools" / "in_shards.sh"
PROGRAM = """#!/bin/sh
echo "$0" "$GTEST_SHARD_INDEX" of "$GTEST_TOTAL_SHARDS" >>ran
echo "{name} complains" >&2
exit {result}
"""


def run(folder: Path, **results: int) -> subprocess.CompletedProcess[str]:
    for name, result in results.items():
        program = folder / f"ckgen_{name}_tests"
        program.write_text(PROGRAM.format(name=name, result=result), encoding="ascii")
        program.chmod(0o755)
    return subprocess.run([RUNNER, folder], capture_output=True, text=True, check=False)


def test_programs_that_pass_are_quiet_and_have_run_every_shard(tmp_path: Path) -> None:
    done = run(tmp_path, one=0, two=0)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.splitlines() == ["./ckgen_one_tests", "./ckgen_two_tests"]
    lines = sorted((tmp_path / "ran").read_text(encoding="ascii").splitlines())
    count = int(lines[0].rpartition(" ")[2])
    assert lines == sorted(f"./ckgen_{name}_tests {at} of {count}" for name in ("one", "two") for at in range(count))


@pytest.mark.parametrize("results", [{"one": 1, "two": 0}, {"one": 0, "two": 139}])
def test_a_program_that_fails_shows_what_it_said_and_the_others_do_not(tmp_path: Path, results: dict[str, int]) -> None:
    done = run(tmp_path, **results)
    failing = next(name for name, result in results.items() if result)
    assert done.returncode == 1
    assert set(done.stderr.splitlines()) == {f"{failing} complains"}


def test_a_folder_that_is_not_there_or_has_no_programs_fails(tmp_path: Path) -> None:
    assert run(tmp_path).returncode == 1
    assert run(tmp_path, one=0).returncode == 0
    elsewhere = subprocess.run([RUNNER, tmp_path / "none"], cwd=tmp_path, capture_output=True, check=False)
    assert elsewhere.returncode == 1
