"""Every command in README and docs is run, and prints what stands there."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import cpp_build
from commands import run

ROOT = cpp_build.ROOT
DOCUMENTS = ("README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))))
QUICKSTART = "python3 -m venv .venv && .venv/bin/pip install -q -e . && .venv/bin/ckgen quickstart"
TESTS = "bash tools/test.sh"

_SHELL = set("|&;<>()$`*?[#~\\\n")
"""What a shell may take for more than a part of a word."""
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Command:
    """A `$ ` line of a console block, and the lines below it."""

    line: str
    output: str


def blocks(text: str, language: str) -> list[str]:
    return [body for found, body in _BLOCK.findall(text) if found == language]


def commands(body: str) -> list[Command]:
    parts = re.split(r"^\$ (.*)\n", body, flags=re.MULTILINE)
    assert not parts[0], "a console block begins with a command"
    return [Command(line, output) for line, output in zip(parts[1::2], parts[2::2], strict=True)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder that looks like the checkout, where commands may write."""
    made = tmp_path_factory.mktemp("docs")
    for entry in ROOT.iterdir():
        if entry.name not in {"build", ".git", ".venv"}:
            (made / entry.name).symlink_to(entry)
    (made / "bin").mkdir()
    for name, program in (("ckgen", "-m ckgen"), ("python", "")):
        script = made / "bin" / name
        script.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}/codegen" exec "{sys.executable}" {program} "$@"\n')
        script.chmod(0o755)
    return made


def printed(line: str, env: dict[str, str]) -> str:
    """What a command prints in the current folder: ckgen alone in this process, anything else as a shell runs it."""
    if not line.startswith("ckgen ") or _SHELL.intersection(line):
        done = cpp_build.attempt("bash", "-c", line, env=env)
        code, text = done.returncode, done.stdout
    else:
        result = run(*shlex.split(line)[1:], env=env)
        code, text = result.exit_code, result.output
    assert code in {0, 1, 3}, text
    return text


@pytest.mark.parametrize("document", [name for name in DOCUMENTS if "```console" in (ROOT / name).read_text()])
def test_the_commands_of_a_document_print_what_stands_there(
    document: str, folder: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    text = (ROOT / document).read_text()
    env = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "COLUMNS": "120"}
    for body in blocks(text, "console"):
        ran = ""
        for command in commands(body):
            ran += f"$ {command.line}\n{printed(command.line, env)}"
        if request.config.getoption("--update-goldens"):
            text = text.replace(body, ran)
            (ROOT / document).write_text(text)
        else:
            assert ran == body


def test_the_first_two_shell_blocks_of_the_readme_are_its_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert blocks(text, "sh")[:2] == [f"{QUICKSTART}\n", f"{TESTS}\n"]
    first = next(line for line in text.splitlines() if "ckgen quickstart" in line)
    assert first == QUICKSTART, "tests/quickstart/test_quickstart.py runs it"


def test_continuous_integration_runs_the_second_command() -> None:
    assert TESTS in (ROOT / ".ci" / "run").read_text()


def test_the_cmake_of_the_readme_names_only_real_keywords() -> None:
    words = set(re.findall(r"\b[A-Z_]{3,}\b", "".join(blocks((ROOT / "README.md").read_text(), "cmake"))))
    assert words <= {"REQUIRED", "TARGETS", "TUNING", "PRIVATE"}
