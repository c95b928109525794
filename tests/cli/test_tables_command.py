"""`ckgen tables …`: what is shown, what is written, and what forbids to write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cli_support import HEADER, LARGE, row, table, tree, write

from commands import as_json, ok, run

SLOW, FAST = row(us="4.3"), row(us="4.1", kernel=LARGE)
OLD_HEADER = HEADER.removeprefix("gfx,")


def old(*rows: str) -> str:
    """A table without the column gfx."""
    return table(*(line.partition(",")[2] for line in rows), header=OLD_HEADER)


class TestDedupe:
    def test_a_contradiction_is_mended_as_the_error_says(self, tiny: Path, golden: Callable[[str, str], None]) -> None:
        write(tiny, {"t/a8w8_blockscale.csv": table(SLOW, row(m=32), FAST)})
        assert run("validate", "t").exit_code == 3
        before = tree(tiny)
        golden("cli/tables_dedupe.txt", ok("tables", "dedupe", "t"))
        assert tree(tiny) == before
        assert "1 row of 1 file removed" in ok("tables", "dedupe", "t", "--keep", "fastest", "--write")
        assert (tiny / "t/a8w8_blockscale.csv").read_text() == table(row(m=32), FAST)
        assert run("validate", "t").exit_code == 0
        assert ok("tables", "dedupe", "t") == "0 rows of 0 files to remove\n"

    @pytest.mark.parametrize(("keep", "stays"), [("fastest", "FAST"), ("first", "SLOW"), ("last", "MIDDLING")])
    def test_the_row_that_stays_is_the_one_that_is_asked_for(self, tiny: Path, keep: str, stays: str) -> None:
        rows = {"SLOW": SLOW, "FAST": FAST, "MIDDLING": row(us="4.2")}
        write(tiny, {"t/a8w8_blockscale.csv": table(*rows.values())})
        assert "2 rows of 1 file removed" in ok("tables", "dedupe", "t", "--keep", keep, "--write")
        assert (tiny / "t/a8w8_blockscale.csv").read_text() == table(rows[stays])

    def test_other_errors_forbid_to_write(self, tiny: Path) -> None:
        text = table(SLOW, FAST, row(m=64, kernel="nonsense"))
        write(tiny, {"t/a8w8_blockscale.csv": text})
        result = run("tables", "dedupe", "t", "--write")
        assert result.exit_code == 3
        assert "error[T012] t/a8w8_blockscale.csv:4" in result.stderr
        assert result.stderr.endswith("1 error in 1 of 2 files; nothing was written\n")
        assert (tiny / "t/a8w8_blockscale.csv").read_text() == text

    @pytest.mark.parametrize("refused", [{"us": "0.0001"}, {"us": "-1"}, {"us": "1", "error": "0.5"}])
    def test_the_row_that_stays_is_one_that_the_planner_believes(self, tiny: Path, refused: dict[str, str]) -> None:
        bad = row(kernel=LARGE, **refused)
        write(tiny, {"t/a8w8_blockscale.csv": table(bad, SLOW)})
        ok("tables", "dedupe", "t", "--write")
        assert (tiny / "t/a8w8_blockscale.csv").read_text() == table(SLOW)
        (file, _) = as_json("validate", "t")["files"]
        assert file["fates"] == {"selected": 1}

    def test_names_that_cannot_be_emitted_forbid_to_write(self, tiny: Path) -> None:
        write(tiny, {"t/a8w8_blockscale.csv": table(SLOW, FAST, row(m=64, library="asm", kernel="a\\b"))})
        result = run("tables", "dedupe", "t", "--write")
        assert result.exit_code == 3 and "error[T016] t/a8w8_blockscale.csv:4" in result.stderr

    def test_rows_without_a_time_are_left_and_said(self, tiny: Path) -> None:
        text = table(row(us="nan"), row(us="0", kernel=LARGE))
        write(tiny, {"t/a8w8_blockscale.csv": text})
        result = run("tables", "dedupe", "t", "--write")
        assert result.exit_code == 1 and "1 contradiction without a time to believe" in result.stderr
        assert (tiny / "t/a8w8_blockscale.csv").read_text() == text


class TestMerge:
    def test_later_tables_win_on_stdout_or_in_a_file(self, tiny: Path) -> None:
        write(tiny, {"a/a8w8_blockscale.csv": table(SLOW, row(m=1)), "b/a8w8_blockscale.csv": table(FAST)})
        merged = ok("tables", "merge", "a", "b")
        assert merged == table(row(m=1), FAST)
        result = run("tables", "merge", "a", "b", "--out", "merged.csv")
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "merged.csv: 2 rows\n")
        assert (tiny / "merged.csv").read_text() == merged

    def test_what_cannot_be_one_table_is_refused(self, tiny: Path) -> None:
        write(tiny, {"t/a8w8_blockscale.csv": table(SLOW, FAST)})
        result = run("tables", "merge", "t", "--out", "merged.csv")
        assert result.exit_code == 3 and "error[T007]" in result.stderr
        assert not (tiny / "merged.csv").exists()
        nothing = run("tables", "merge", "t/a8w8_blockscale_untuned.csv")
        assert nothing.exit_code == 2 and "none of these files is a tuned GEMM table" in nothing.stderr

    @pytest.mark.parametrize("out", ["t", "t/a8w8_blockscale.csv/x", "missing/x.csv"])
    def test_an_output_that_cannot_be_written(self, tiny: Path, out: str) -> None:
        result = run("tables", "merge", "t/a8w8_blockscale.csv", "--out", out)
        assert result.exit_code == 2 and result.stderr.startswith("error: ")


class TestUpgrade:
    def test_the_arch_is_filled_in_where_the_count_tells_it(self, tiny: Path) -> None:
        write(tiny, {"old.csv": old(row(), row(cu=80))})
        assert "old.csv: 2 rows of gfx942\n1 file would be upgraded" in ok("tables", "upgrade", "old.csv")
        ok("tables", "upgrade", "old.csv", "--write")
        assert (tiny / "old.csv").read_text() == table(row(), row(cu=80))
        assert ok("tables", "upgrade", "old.csv", "--write") == "0 files upgraded\n"

    def test_an_ambiguous_count_needs_to_be_said(self, tiny: Path) -> None:
        write(tiny, {"old.csv": old(row(cu=256))})
        result = run("tables", "upgrade", "old.csv", "--write")
        assert result.exit_code == 0 and "--assume-gfx 256=GFX" in result.stderr
        ok("tables", "upgrade", "old.csv", "--write", "--assume-gfx", "256=gfx950")
        assert (tiny / "old.csv").read_text() == table(row(gfx="gfx950", cu=256))

    def test_a_type_that_nothing_tells_is_written_where_it_is_said(self, tiny: Path) -> None:
        write(tiny, {"a8w8.csv": "gfx,cu_num,M,N,K,us,kernelName\ngfx942,80,1,1280,8192,20.5,_Z1\n"})
        assert run("validate", "a8w8.csv").exit_code == 3
        assert run("validate", "a8w8.csv", "--assume-dtype", "torch.int8").exit_code == 0
        ok("tables", "upgrade", "a8w8.csv", "--write", "--assume-dtype", "torch.int8")
        assert (tiny / "a8w8.csv").read_text().splitlines()[1].startswith("torch.int8,gfx942,80,")
        assert run("validate", "a8w8.csv").exit_code == 0

    def test_errors_forbid_to_write(self, tiny: Path) -> None:
        write(tiny, {"u/old.csv": old(row()), "u/bad.csv": old(row(cu="many"))})
        before = tree(tiny)
        result = run("tables", "upgrade", "u", "--write")
        assert result.exit_code == 3 and "error[T005] u/bad.csv:2" in result.stderr
        assert tree(tiny) == before


class TestStats:
    def test_text_and_json_agree(self, tiny: Path, golden: Callable[[str, str], None]) -> None:
        golden("cli/tables_stats.txt", ok("tables", "stats", "t"))
        found = as_json("tables", "stats", "t")
        assert set(found) == {"kinds", "groups", "invalid"}
        assert {"kind": "gemm_shapes", "files": 1, "rows": 2} in found["kinds"]
        assert sum(group["rows"] for group in found["groups"]) == 6

    def test_bad_rows_are_exit_3_and_counted(self, tiny: Path) -> None:
        write(tiny, {"t/a8w8_blockscale.csv": table(row(m="x"))})
        assert as_json("tables", "stats", "t", code=3)["invalid"] == 1


@pytest.mark.parametrize("command", ["dedupe", "merge", "upgrade", "stats"])
def test_wrong_usage_is_exit_2(tiny: Path, command: str) -> None:
    assert run("tables", command).exit_code == 2
    missing = run("tables", command, "missing")
    assert missing.exit_code == 2 and missing.stderr == "error: no such file or directory: missing\n"


class TestDigest:
    def test_it_is_of_bytes_in_their_order(self, tmp_path: Path) -> None:
        """That it is what C++ says, tests/runtime holds."""
        one, same, other = (tmp_path / name for name in ("one.csv", "same.csv", "other.csv"))
        for path, text in ((one, "a,b\n1,2\n"), (same, "a,b\n1,2\n"), (other, "a,b\n1,3\n")):
            path.write_text(text)
        (digest,) = {ok("tables", "digest", str(path)).split()[0] for path in (one, same)}
        document = as_json("tables", "digest", str(one), str(other))
        assert document["files"][str(one)] == digest != document["files"][str(other)]
        lines = ok("tables", "digest", str(one), str(other)).splitlines()
        assert lines[-1] == f"{document['digest']}  {one}:{other}" and len(lines) == 3
        assert as_json("tables", "digest", str(other), str(one))["digest"] != document["digest"]
        assert len(digest) == 16

    def test_what_cannot_be_read_is_refused(self, tmp_path: Path) -> None:
        done = run("tables", "digest", str(tmp_path))
        assert done.exit_code == 2 and f"cannot read {tmp_path}: Is a directory" in done.stderr
