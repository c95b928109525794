"""ckgen without the distribution that its entry points find: what it says, and that it names none of its modules."""

from __future__ import annotations

import json
import os
import tomllib
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import click
import pytest
from click.shell_completion import ShellComplete

from ckgen import paths
from ckgen.cli import cli
from ckgen.extension import AMD_CHECK, COMMANDS, FUZZ, OPERATIONS, Emulate, EmulateOperations, Execute, extension
from ckgen.fuzz.outcome import Failure, FailureKind, Sampled
from ckgen.fuzz.run import Report
from ckgen.model.errors import UsageError
from ckgen.runtime import Library
from ckgen.runtime.source import LibrarySource
from commands import ok, run

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
    result = run(*words)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", SAYS.format(asked))


@pytest.mark.usefixtures("alone")
def test_emulated_operations_say_what_to_install() -> None:
    source = LibrarySource(Path("library.so"), ("mine",), ("mine_device",))
    lib = Library(*(cast(Any, SimpleNamespace(native=None)) for _ in range(3)), source)
    with pytest.raises(UsageError) as refused:
        lib.emulated("gfx942:304")
    assert f"error: {refused.value}\n" == SAYS.format("Library.emulated")


@pytest.mark.usefixtures("alone")
def test_its_command_is_listed_all_the_same() -> None:
    assert "emulate     Run GPU code on the CPU, and check it while it runs." in ok("--help")
    completed = ShellComplete(cli, {}, "ckgen", "_CKGEN_COMPLETE").get_completions([], "em")
    assert [(one.value, one.help) for one in completed] == [
        ("emulate", "Run GPU code on the CPU, and check it while it runs.")
    ]


def test_an_installed_one_is_found() -> None:
    command = cli.get_command(click.Context(cli), "emulate")
    assert command is not None and type(command).__module__ == "ckgen.cli.errors"
    assert {one.name for one in command.params} > {"kernel", "code_object"}


@pytest.mark.parametrize(("group", "name", "protocol"), [
    (AMD_CHECK, "execute", Execute), (FUZZ, "emulate", Emulate), (OPERATIONS, "emulate", EmulateOperations),
])  # fmt: skip
def test_what_is_found_takes_what_ckgen_gives(group: str, name: str, protocol: type) -> None:
    asked, found = signature(protocol.__call__), signature(extension(group, name, ""))
    assert list(found.parameters.values()) == list(asked.parameters.values())[1:]
    assert found.return_annotation == asked.return_annotation


def test_the_emulator_declares_what_ckgen_looks_for() -> None:
    with (paths.root() / "emulator" / "pyproject.toml").open("rb") as file:
        declared = tomllib.load(file)["project"]["entry-points"]
    assert {group: [*names] for group, names in declared.items()} == {
        COMMANDS: ["emulate"], AMD_CHECK: ["execute"], FUZZ: ["emulate"], OPERATIONS: ["emulate"],
    }  # fmt: skip


def test_fuzz_counts_what_was_emulated_and_fails_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []
    library = Path("library.so")

    def emulate(*given: Any) -> dict[str, Sampled]:
        asked.append(given[:4])
        failure = Failure(FailureKind.EMULATED, "it hung", "ckgen fuzz …")
        return {"gemm": Sampled(2, []), "moe": Sampled(1, [failure])}

    found = (SimpleNamespace(load=lambda: emulate),)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **which: found if which["group"] == FUZZ else ())
    prepared = SimpleNamespace(library=library, inputs=None, space=None)
    monkeypatch.setattr("ckgen.fuzz.prepare.prepare", lambda *_: prepared)
    monkeypatch.setattr("ckgen.fuzz.run.fuzz", lambda subject, seed, *_: Report(seed))
    result = run("fuzz", "--ops", "gemm,moe", "--seed", "7", "--emulate", "3", "--json")
    assert asked == [(frozenset({"gemm", "moe"}), 7, 3, library)]
    document = json.loads(result.stdout)
    assert document["emulated"] == {"gemm": 2, "moe": 1} and document["failures"][0]["what"] == "it hung"
    assert result.exit_code == 1


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
