"""Tables in place of the shipped ones, and beside them."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_support import LARGE, SMALL, row, table, write

from ckgen import paths
from commands import as_json, run

LOOKUP = ("lookup", "gemm", "--target", "gfx942", "--signature", "a8w8_blockscale", "--shape")


@pytest.fixture(autouse=True)
def shipped(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two shipped rows, M = 16 and 32, and in `mine` one of M = 16 whose time is worse."""
    write(tiny, {"aiter/a8w8_blockscale.csv": table(row(m=16), row(m=32)),
                 "mine/a8w8_blockscale.csv": table(row(m=16, kernel=LARGE, us="99"))})  # fmt: skip
    monkeypatch.setattr(paths, "tuning_dir", lambda: tiny)
    monkeypatch.setattr(paths, "shipped_tables", lambda: (paths.tuning_dir() / "aiter",))
    return tiny


def answers(*tuning: str) -> list[str | None]:
    """The table kernels that answer M = 16 and M = 32 exactly."""
    found = (as_json(*LOOKUP, f"{m},512,7168", *tuning) for m in (16, 32))
    return [one["table_kernel"] if one["tier"] == "exact" else None for one in found]


def test_rows_of_added_tables_win_and_the_other_shipped_rows_stay() -> None:
    assert answers() == [SMALL, SMALL]
    assert answers("--tuning", "mine") == [LARGE, None]
    assert answers("--tuning", "+mine") == [LARGE, SMALL]
    assert answers("--tuning", "+mine/a8w8_blockscale.csv") == [LARGE, SMALL]


def test_later_ones_of_several_added_tables_win(shipped: Path) -> None:
    write(shipped, {"more/a8w8_blockscale.csv": table(row(m=16), row(m=32, kernel=LARGE))})
    assert answers("--tuning", "+mine", "--tuning", f"+{shipped}/more") == [SMALL, LARGE]
    assert answers("--tuning", "+more", "--tuning", "+mine") == [LARGE, LARGE]


@pytest.mark.parametrize(
    "command",
    [
        ("generate", "--targets", "gfx942", "--dry-run"),
        ("export", "--targets", "gfx942"),
        ("list", "instances", "--targets", "gfx942"),
        (*LOOKUP, "16,512,7168"),
        ("explain", *LOOKUP[1:], "16,512,7168"),
    ],
)
def test_a_note_says_whether_tables_were_added_or_replaced(command: tuple[str, ...]) -> None:
    assert "note: tables:" not in run(*command).stderr
    added = run(*command, "--tuning", "+mine", "--tuning", "+t")
    assert "note: tables: the shipped ones, then mine, t; later rows win\n" in added.stderr
    assert "note: tables: mine in place of the shipped ones\n" in run(*command, "--tuning", "mine").stderr


def test_a_row_that_gives_way_is_overridden_and_the_drift_is_mended_by_the_same_command() -> None:
    generate = ("generate", "--targets", "gfx942", "--tuning", "+mine")
    assert as_json(*generate)["fates"] == {"overridden": 1, "selected": 2}
    assert run(*generate, "--strict-layers").exit_code == 3
    assert "--tuning +mine " in as_json(*generate, "--check", "--out", "other", code=1)["command"]


@pytest.mark.parametrize(
    ("tuning", "said"),
    [
        (("--tuning", "+mine", "--tuning", "t"), "give + to all or none"),
        (("--tuning", "+"), "a path is expected behind the +"),
        (("--tuning", "+missing"), "no such file or directory: missing"),
    ],
)
def test_what_cannot_be_meant_is_refused(tuning: tuple[str, ...], said: str) -> None:
    refused = run(*LOOKUP, "16,512,7168", *tuning)
    assert refused.exit_code == 2 and said in refused.stderr


def test_attention_has_no_shipped_tables_to_add_to() -> None:
    asked = ("lookup", "fmha:bf16", "--target", "gfx942", "batch=1", "heads_q=8", "seqlen_q=64", "hdim_q=128")
    found = run(*asked, "--tuning", "+mine")
    assert found.exit_code == 0 and "note: tables:" not in found.stderr
