"""Any bytes in a table end in an exit code and a located message, in every command that reads tables."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest
from cli_support import HEADER, LARGE, SMALL, row, table, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commands import run
from examples import examples

NAME = "a8w8_blockscale.csv"

COMMANDS = (
    ("generate", "--targets", "gfx942", "--dry-run", "--tuning"),
    ("lookup", "gemm", "--target", "gfx942", "--signature", "a8w8_blockscale", "--shape", "16,512,7168", "--tuning"),
    ("explain", "gemm", "--target", "gfx942", "--signature", "a8w8_blockscale", "--shape", "9,512,7168", "--tuning"),
    ("validate",),
    ("tables", "dedupe"),
    ("tables", "merge"),
    ("tables", "upgrade"),
    ("tables", "stats"),
)

BAD = {
    "binary": b"\x00\xff\xfe\x01",
    "utf16": table(row()).encode("utf-16"),
    "empty": b"",
    "conflict": f"{HEADER}\n<<<<<<< a\n{row()}\n=======\n>>>>>>> b\n".encode(),
    "quote": table(row(), '"').encode(),
    "wide": table(row() + ",1").encode(),
    "header": b"a,b\n1,2\n",
    "contradiction": table(row(), row(kernel=LARGE)).encode(),
    "name": table(row(kernel="")).encode(),
    "strange_name": table(row(kernel="\x1b[31m")).encode(),
    "target": table(row(gfx="gfx")).encode(),
    "size": table(row(m=2**80)).encode(),
}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_table_names_its_file(tiny: Path, command: tuple[str, ...], kind: str) -> None:
    write(tiny, {f"bad/{NAME}": BAD[kind]})
    result = run(*command, f"bad/{NAME}")
    assert result.exit_code in (0, 2, 3)
    if command[0] != "tables":
        assert result.exit_code == 3 and f"bad/{NAME}" in result.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_what_is_no_file_is_said(tiny: Path, command: tuple[str, ...]) -> None:
    (tiny / "dir.csv").mkdir()
    (tiny / "loop").symlink_to("loop")
    for path in ("dir.csv", "loop", "x" * 5000):
        result = run(*command, path)
        assert result.exit_code in (2, 3) and path in result.stderr


CELLS = st.one_of(
    st.sampled_from(
        [SMALL, LARGE, "gfx942", "gfx950", "304", "16", "512", "7168", "ck", "asm", "0", "4.5", "nan", "-1"]
    ),
    st.sampled_from(
        ["", " ", '"', '"a""b"', "1e999", "inf", "0x10", "\x00", "\ufeff", "é", "9" * 50, "2.5", "gfx1151"]
    ),
    st.text(max_size=6),
)
LINES = st.one_of(
    st.lists(CELLS, max_size=15).map(",".join),
    st.builds(row, m=CELLS, us=CELLS, splits=CELLS, kernel=st.sampled_from([SMALL, LARGE, "x"]), error=CELLS),
    st.builds(row, gfx=CELLS, cu=CELLS, library=CELLS),
)
HEADERS = st.sampled_from(
    [HEADER, HEADER.removeprefix("gfx,"), "M,N,K", "token,topk,us,cu_num", f"{HEADER},B", "M,M,us"]
)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(header=HEADERS, lines=st.lists(LINES, max_size=5), end=st.sampled_from(["\n", "\r\n", "\r", ""]))
def test_no_text_of_a_table_is_an_internal_error(header: str, lines: list[str], end: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        path.write_bytes(f"{header}\n{end.join(lines)}".encode("utf-8", "surrogatepass"))
        result = run("validate", str(path), "--json")
        assert result.exit_code in (0, 3), result.output
        (file,) = json.loads(result.stdout)["files"]
        assert sum(file["fates"].values()) == file["rows"]
        for command in (*COMMANDS[1:2], *COMMANDS[4:]):
            assert run(*command, str(path)).exit_code in (0, 1, 2, 3)


@settings(max_examples=examples(25))
@given(data=st.binary(max_size=200))
def test_no_bytes_of_a_kernel_set_are_an_internal_error(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "set.yaml"
        path.write_bytes(data)
        (Path(folder) / NAME).write_text(table(row()), encoding="utf-8")
        arguments = ("generate", "--targets", "gfx942", "--tuning", folder, "--kernel-set", str(path), "--dry-run")
        assert run(*arguments).exit_code in (0, 3)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_what_never_ends_is_not_read(tiny: Path, command: tuple[str, ...]) -> None:
    os.mkfifo(tiny / "pipe.csv")
    for path in ("pipe.csv", "/dev/zero"):
        result = run(*command, path)
        assert result.exit_code == 2 and f"neither a file nor a directory: {path}" in result.stderr


def test_no_text_of_a_table_reaches_the_terminal_as_a_control_character(tiny: Path) -> None:
    name = "a8w8_blockscale\x1b[31m\x07\u202e\nerror[T000] x.csv:1.csv"
    write(
        tiny, {f"bad/{name}": table(row(kernel="\x1b[2J\x9b\u202e" + "x" * 1000), row(m="\x07"), row(library="\x1b"))}
    )
    result = run("validate", "bad")
    assert result.exit_code == 3
    assert all(character.isprintable() or character == "\n" for character in result.stdout + result.stderr)
    assert "'\\x1b[2J\\x9b\\u202exxx" in result.stderr and "x" * 200 not in result.stderr
    assert not any(line.startswith("error[T000]") for line in result.stderr.splitlines())
