"""ckgen without the distribution that its entry points find: what it says, and that it names none of its modules."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from ckgen import paths
from ckgen.cli import cli

SAYS = (
    "error: `{}` needs the distribution ckgen-emulator, which is not installed: "
    "`pip install ./emulator` in a checkout of ckgen\n"
)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No distribution brings anything, and no command begins what takes long."""

    def begin(*_: Any, **__: Any) -> None:
        raise AssertionError("a command began although it cannot end")

    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    monkeypatch.setattr("ckgen.fuzz.prepare.prepare", begin)
    monkeypatch.setattr("ckgen.build.named.named_kernels", begin)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (("emulate",), "ckgen emulate"),
        (("emulate", "--help"), "ckgen emulate"),
        (("emulate", "gemm", "--kernel", "k", "--target=gfx942", "-x"), "ckgen emulate"),
        (("amd-check", "--execute"), "ckgen amd-check --execute"),
        (("fuzz", "--emulate", "3"), "ckgen fuzz --emulate"),
    ],
)
def test_what_the_emulator_brings_says_what_to_install(words: tuple[str, ...], asked: str) -> None:
    result = CliRunner().invoke(cli, words, prog_name="ckgen")
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", SAYS.format(asked))


@pytest.mark.usefixtures("alone")
def test_its_command_is_listed_all_the_same() -> None:
    listed = CliRunner().invoke(cli, ["--help"])
    assert "emulate     Run GPU code on the CPU, and check it while it runs." in listed.stdout
    completed = ShellComplete(cli, {}, "ckgen", "_CKGEN_COMPLETE").get_completions([], "em")
    assert [(one.value, one.help) for one in completed] == [
        ("emulate", "Run GPU code on the CPU, and check it while it runs.")
    ]


def test_an_installed_one_is_found() -> None:
    command = cli.get_command(click.Context(cli), "emulate")
    assert command is not None and type(command).__module__ == "ckgen.cli.errors"
    assert {one.name for one in command.params} > {"kernel", "code_object"}


@pytest.mark.parametrize("folder", [paths.package_dir(), paths.dispatcher_dir(), paths.templates_dir()])
def test_neither_package_nor_library_names_its_modules_or_headers(folder: Path) -> None:
    """In no import, include, include folder or string to import by."""
    texts = {
        Path(place, name): Path(place, name).read_text(encoding="utf-8", errors="replace")
        for place, _, names in os.walk(folder)
        for name in names
        if Path(name).suffix in {".py", ".cpp", ".hpp", ".h", ".txt", ".cmake", ".j2", ".hip", ".in"}
    }
    assert len(texts) > 20
    assert [path for path, text in texts.items() if "ckgen_emulator" in text or "emulator/" in text] == []
