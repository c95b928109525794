"""The way in and the way out: help, version, imports, signals, internal errors."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from cli_support import REPOSITORY

from ckgen.cli import COMMANDS, cli, tables
from ckgen.cli.groups import Entry
from ckgen.version import __version__
from commands import ok, run, spawn

HEAVY = (
    "numpy", "pandas", "jinja2", "yaml", "rich", "tomllib", "importlib.metadata", "ckgen.plan", "ckgen.families",
    "ckgen.tables", "ckgen.specs", "ckgen_emulator",
)  # fmt: skip


def test_version_says_name_and_number() -> None:
    assert ok("--version") == f"ckgen {__version__}\n"


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("tables", "--help")])
def test_version_and_help_import_no_room_but_cli(arguments: tuple[str, ...]) -> None:
    code = (
        "import json, sys\nfrom ckgen.cli import cli\n"
        f"cli.main({list(arguments)!r}, standalone_mode=False)\nprint(json.dumps(sorted(sys.modules)))"
    )
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY / "codegen")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert [name for name in loaded if name.startswith(HEAVY)] == []


@pytest.mark.parametrize("name, entry", [*COMMANDS.items(), *tables.COMMANDS.items()])
def test_the_static_help_of_a_command_begins_its_own(name: str, entry: Entry) -> None:
    group = tables.command if name in tables.COMMANDS else cli
    command = group.get_command(click.Context(group), name)
    assert command is not None and command.name == name
    assert command.get_short_help_str(limit=200).rstrip(".").lower() == entry.help.rstrip(".").lower()
    assert ok(*(["tables"] if name in tables.COMMANDS else []), name, "--help").startswith("Usage: ckgen ")


def test_no_command_shows_help_and_an_unknown_one_is_named() -> None:
    bare = run()
    assert bare.exit_code == 2 and "Commands:" in bare.output
    unknown = run("generat")
    assert unknown.exit_code == 2 and "'generat'" in unknown.stderr and unknown.stdout == ""


def test_an_internal_error_is_one_line_and_exit_4(monkeypatch: pytest.MonkeyPatch) -> None:
    def explode() -> None:
        raise ValueError("two\nlines")

    monkeypatch.setattr("ckgen.specs.archs.load_archs", explode)
    result = run("list", "archs")
    assert result.exit_code == 4
    assert result.stdout == ""
    assert result.stderr == "internal error: ValueError: two lines; please report it (CKGEN_TRACEBACK=1 shows where)\n"


def test_the_traceback_of_an_internal_error_is_shown_on_request() -> None:
    code = "import ckgen.specs.archs as a\na.load_archs = None\nfrom ckgen.cli import main\nmain()"
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY / "codegen"), "CKGEN_TRACEBACK": "1"}
    arguments = [sys.executable, "-c", code, "list", "archs"]
    done = subprocess.run(arguments, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 4
    assert done.stderr.startswith("Traceback") and "internal error: TypeError" in done.stderr


def test_an_interrupt_is_exit_130_without_a_traceback() -> None:
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY / "codegen")}
    code = (  # a shell's background job ignores interrupts, and so would its children
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import ckgen.specs.archs as a, time\n"
        "def wait():\n    print('ready', flush=True)\n    time.sleep(60)\n"
        "a.load_archs = wait\nfrom ckgen.cli import main\nmain()"
    )
    arguments = [sys.executable, "-c", code, "list", "archs"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr.read().strip() == "interrupted"


def test_a_reader_that_goes_away_is_no_error_message() -> None:
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY / "codegen")}
    arguments = [sys.executable, "-m", "ckgen", "list", "rules"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.wait(timeout=60) == 141
        assert process.stderr.read() == ""


def test_output_that_a_terminal_cannot_encode_is_escaped(tmp_path: Path) -> None:
    arguments = ("explain", "gemm", "--target", "gfx942", "--signature", "fp16", "--shape", "1,2,3")
    (tmp_path / "a8w8.csv").write_text("gfx,cu_num,M,N,K,kernelName,us\n", encoding="utf-8")
    done = spawn(*arguments, "--tuning", str(tmp_path), env={"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"})
    assert done.returncode in (0, 1) and done.stderr == f"note: tables: {tmp_path} in place of the shipped ones\n"
    assert "\\u2192fp16" in done.stdout


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_invalid_output_not_an_internal_error(unbuffered: str) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full")
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY / "codegen"), "PYTHONUNBUFFERED": unbuffered}
    with full.open("w") as stream:
        arguments = [sys.executable, "-m", "ckgen", "list", "archs"]
        done = subprocess.run(arguments, stdout=stream, stderr=subprocess.PIPE, text=True, env=env, check=False)
    assert done.returncode == 3
    assert "Traceback" not in done.stderr and "No space left" in done.stderr


@pytest.mark.slow
def test_version_starts_as_fast_as_click() -> None:
    """By the least processor time of interleaved runs: what else runs here can only add to one of them."""
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY / "codegen")}

    def seconds(*arguments: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, env=env, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    pairs = [(seconds("-m", "ckgen", "--version"), seconds("-c", "import click")) for _ in range(25)]
    ours, bare = (min(times) for times in zip(*pairs, strict=True))
    assert ours < 1.2 * bare


def test_the_same_run_prints_the_same_bytes_under_any_hash_seed() -> None:
    runs = {spawn("list", "names", "--json", env={"PYTHONHASHSEED": seed}).stdout for seed in ("0", "1", "2")}
    assert len(runs) == 1
