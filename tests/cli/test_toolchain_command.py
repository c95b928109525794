"""`ckgen toolchain amd` and what `ckgen env` says of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from amd_support import amd_toolchain
from ckgen.build.amd.probe_list import probes
from commands import run


@pytest.fixture(autouse=True)
def no_rocm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROCM_PATH", raising=False)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--pinned", "--rocm", "/opt/rocm"], "exclude each other"),
        (["--ck", "/ck"], "--ck goes with --rocm"),
        (["--rocm", "/opt/rocm", "--also", "older-ck"], "--also goes with the pinned toolchain"),
        (["--also", "newer-ck"], "older-ck"),
    ],
)
def test_options_that_do_not_go_together(arguments: list[str], text: str, tmp_path: Path) -> None:
    result = run("toolchain", "amd", "--prefix", str(tmp_path / "new"), *arguments)
    assert result.exit_code == 2 and text in result.stderr
    assert not (tmp_path / "new").exists()


def test_a_rocm_path_without_a_compiler_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    result = run("toolchain", "amd", "--prefix", str(tmp_path / "prefix"), "--json")
    assert result.exit_code == 3
    (found,) = json.loads(result.stdout)["diagnostics"]
    assert found["code"] == "X005" and found["file"] == str(tmp_path / "rocm")


def test_env_says_why_there_is_no_toolchain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CKGEN_AMD_PREFIX", str(tmp_path / "none"))
    found = json.loads(run("env", "--json").stdout)["amd_toolchain"]
    assert found["kind"] is None and found["prefix"] == str(tmp_path / "none") and "toolchain amd" in found["hint"]
    assert "none in" in run("env").stdout
    assert not (tmp_path / "none").exists()


def test_nothing_of_the_toolchain_is_imported_before_it_is_needed() -> None:
    code = "import sys; from ckgen.cli import main\ntry: main()\nexcept SystemExit: print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=True)
    assert "click" in done.stdout and "ckgen.build" not in done.stdout


@pytest.mark.amd
@pytest.mark.slow
def test_a_second_run_has_nothing_to_do() -> None:
    prefix = str(amd_toolchain().prefix)
    run("toolchain", "amd", "--prefix", prefix, "--pinned")
    result = run("toolchain", "amd", "--prefix", prefix, "--pinned", "--json")
    assert result.exit_code == 0 and result.stderr == ""
    found = json.loads(result.stdout)
    assert found["kind"] == "pinned" and found["done"] == [] and found["seconds"] < 1
    assert found["identity"] == amd_toolchain().identity and found["ck"]["id"] == amd_toolchain().tree_id
    assert list(found["ck"]["capabilities"]) == [probe.id for probe in probes()]
    text = run("toolchain", "amd", "--prefix", prefix, "--pinned").stdout
    assert text.startswith("nothing to do\n") and "ck_tile.stream_k" in text


@pytest.mark.amd
def test_env_shows_the_toolchain(monkeypatch: pytest.MonkeyPatch) -> None:
    toolchain = amd_toolchain()
    monkeypatch.setenv("CKGEN_AMD_PREFIX", str(toolchain.prefix))
    found = json.loads(run("env", "--json").stdout)["amd_toolchain"]
    assert found["identity"] == toolchain.identity and found["compiler_version"] == toolchain.compiler_version
    assert found["ck"]["id"] == toolchain.tree_id
    text = run("env").stdout
    assert toolchain.compiler_id[:16] in text and toolchain.tree_id[:16] in text
