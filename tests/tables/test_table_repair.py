"""dedupe, merge, upgrade, stats: what they decide, and that no other byte of a file changes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.model.diagnostic import Severity
from ckgen.model.dtype import DType
from ckgen.model.errors import InputError, UsageError
from ckgen.tables import load_tables
from ckgen.tables.files import write_files
from ckgen.tables.merge import merge
from ckgen.tables.repair import Conflict, dedupe, find_conflicts
from ckgen.tables.stats import table_stats
from ckgen.tables.upgrade import plan_upgrades
from table_support import AITER, BLOCKSCALE_HEADER, BPRESHUFFLE_HEADER, load, one, options, row, table, write

NAME = "a8w8_blockscale.csv"
FAST, SLOW = row(kernelName="fast", us="4.1"), row(kernelName="slow", us="4.3")


def conflicts_of(folder: Path, files: Mapping[str, str | bytes]) -> tuple[Conflict, ...]:
    return find_conflicts(load(folder, files))


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class TestDedupe:
    def test_the_fastest_valid_row_of_a_key_is_kept_across_files(self, tmp_path: Path) -> None:
        write(tmp_path, {NAME: table(SLOW, row(M="32"), row(kernelName="zero", us="0")), f"x/{NAME}": table(FAST)})
        loaded = load_tables([tmp_path], options())
        (conflict,) = find_conflicts(loaded)
        assert [str(found.location) for found in conflict.rows] == [f"{NAME}:2", f"{NAME}:4", f"x/{NAME}:2"]
        assert conflict.keep is conflict.rows[2]
        write_files(dedupe(loaded, [conflict]))
        assert tree(tmp_path) == {NAME: table(row(M="32")).encode(), f"x/{NAME}": table(FAST).encode()}

    def test_writing_keeps_every_other_byte_and_a_second_time_changes_nothing(self, tmp_path: Path) -> None:
        other, last = row(M=" 32 ", us="7.50"), row(M="064")
        before = f"\ufeff{BLOCKSCALE_HEADER} \r\n\r\n{SLOW}\r\n  \n{other}\r\n{FAST}\n{last}".encode()
        after = f"\ufeff{BLOCKSCALE_HEADER} \r\n\r\n  \n{other}\r\n{FAST}\n{last}".encode()
        write(tmp_path, {NAME: before})
        loaded = load_tables([tmp_path], options())
        write_files(dedupe(loaded, find_conflicts(loaded)))
        assert tree(tmp_path) == {NAME: after}
        assert find_conflicts(load_tables([tmp_path], options())) == ()

    def test_equal_rows_and_rows_of_other_keys_do_not_contradict(self, tmp_path: Path) -> None:
        rows = (FAST, FAST, row(M="32", kernelName="x"), row(cu_num="80", kernelName="y"), row(gfx="gfx950"))
        assert conflicts_of(tmp_path, {NAME: table(*rows)}) == ()

    def test_a_row_of_another_k_batch_or_library_contradicts(self, tmp_path: Path) -> None:
        assert len(conflicts_of(tmp_path, {NAME: table(FAST, row(kernelName="fast", splitK="1"))})) == 1
        assert len(conflicts_of(tmp_path, {NAME: table(FAST, row(kernelName="fast", libtype="cktile"))})) == 1

    def test_dtypes_are_part_of_the_key(self, tmp_path: Path) -> None:
        rows = [
            row(BPRESHUFFLE_HEADER, q_dtype_w=f"torch.{name}", kernelName=name) for name in ("int8", "float8_e4m3fn")
        ]
        assert conflicts_of(tmp_path, {"a8w8_bpreshuffle.csv": table(*rows, header=BPRESHUFFLE_HEADER)}) == ()

    def test_a_later_layer_overrides_and_does_not_contradict(self, tmp_path: Path) -> None:
        write(tmp_path, {f"1/{NAME}": table(SLOW), f"2/{NAME}": table(FAST)})
        assert find_conflicts(load_tables([tmp_path / "1", tmp_path / "2"], options())) == ()

    def test_without_a_valid_time_nothing_is_removed(self, tmp_path: Path) -> None:
        write(tmp_path, {NAME: table(row(kernelName="a", us="inf"), row(kernelName="b", us="0"))})
        loaded = load_tables([tmp_path], options())
        (conflict,) = find_conflicts(loaded)
        assert conflict.keep is None
        assert dedupe(loaded, [conflict]) == {}

    def test_a_row_that_is_not_believed_is_never_kept(self, tmp_path: Path) -> None:
        loaded = load(tmp_path, {NAME: table(SLOW, FAST)})
        (conflict,) = find_conflicts(loaded, believed=lambda found: found.kernel != "fast")
        assert conflict.keep is conflict.rows[0]
        (conflict,) = find_conflicts(loaded, believed=lambda found: False)
        assert conflict.keep is None

    def test_rows_are_about_the_same_where_the_caller_says_so(self, tmp_path: Path) -> None:
        rows = [
            row(BPRESHUFFLE_HEADER, q_dtype_w=f"torch.{name}", kernelName=name) for name in ("int8", "float8_e4m3fn")
        ]
        loaded = load(tmp_path, {"a8w8_bpreshuffle.csv": table(*rows, header=BPRESHUFFLE_HEADER)})
        assert find_conflicts(loaded) == ()
        assert len(find_conflicts(loaded, lambda found: [found.module])) == 1

    def test_a_tie_keeps_the_first(self, tmp_path: Path) -> None:
        (conflict,) = conflicts_of(tmp_path, {NAME: table(row(kernelName="b"), row(kernelName="a"))})
        assert conflict.keep is conflict.rows[0]

    def test_what_is_printed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Callable[[str, str], None]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        undecided = (row(M="1", kernelName="a", us="nan"), row(M="1", kernelName="b", us="0", libtype="asm"))
        found = conflicts_of(Path("t"), {NAME: table(SLOW, *undecided), f"x/{NAME}": table(FAST)})
        golden("tables/dedupe.txt", "".join(f"{line}\n" for conflict in found for line in conflict.lines()))

    def test_the_real_tables_have_nothing_to_repair(self) -> None:
        assert find_conflicts(load_tables([AITER], options(gfx={304: "gfx942"}))) == ()


class TestWriting:
    def test_all_files_or_none(self, tmp_path: Path) -> None:
        write(tmp_path, {"a.csv": "old"})
        with pytest.raises(UsageError, match=r"^cannot write .*nowhere/.*: No such file or directory$"):
            write_files({tmp_path / "a.csv": b"new", tmp_path / "nowhere" / "b.csv": b"new"})
        assert tree(tmp_path) == {"a.csv": b"old"}

    def test_a_failing_replacement_leaves_no_litter(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(source: Path, target: Path) -> None:
            raise OSError(28, "No space left on device", str(target))

        write(tmp_path, {"a.csv": "old", "b.csv": "old"})
        monkeypatch.setattr(os, "replace", refuse)
        with pytest.raises(UsageError, match="No space left"):
            write_files({tmp_path / "a.csv": b"new", tmp_path / "b.csv": b"new"})
        assert tree(tmp_path) == {"a.csv": b"old", "b.csv": b"old"}

    def test_mode_and_links_stay(self, tmp_path: Path) -> None:
        write(tmp_path, {"real.csv": "old"})
        (tmp_path / "real.csv").chmod(0o640)
        (tmp_path / "link.csv").symlink_to("real.csv")
        write_files({tmp_path / "link.csv": b"new", tmp_path / "fresh.csv": b"new"})
        assert (tmp_path / "link.csv").is_symlink()
        assert (tmp_path / "real.csv").read_bytes() == b"new"
        assert (tmp_path / "real.csv").stat().st_mode & 0o777 == 0o640
        assert (tmp_path / "fresh.csv").read_bytes() == b"new"


class TestMerge:
    def test_later_layers_win_and_rows_are_sorted(self, tmp_path: Path) -> None:
        write(tmp_path, {f"1/{NAME}": table(row(M="128"), SLOW, row(M="32", gfx="gfx1250")), f"2/{NAME}": table(FAST)})
        merged = merge(load_tables([tmp_path / "1", tmp_path / "2"], options()))
        assert merged.decode() == table(row(M="32", gfx="gfx1250"), FAST, row(M="128"))

    def test_the_order_of_files_does_not_matter(self, tmp_path: Path) -> None:
        rows = [row(M=str(m), us=us) for m in (16, 32) for us in ("3.0", "2.0", "0")]
        write(tmp_path, {f"1/{n}_{NAME}": table(text) for n, text in enumerate(rows)})
        write(tmp_path, {f"2/{n}_{NAME}": table(text) for n, text in enumerate(reversed(rows))})
        first, second = (merge(load_tables([tmp_path / name], options())) for name in "12")
        assert first == second
        assert first.decode() == table(row(M="16", us="2.0"), row(M="32", us="2.0"))

    def test_columns_are_united_and_gfx_and_library_are_filled(self, tmp_path: Path) -> None:
        old = "cu_num,M,N,K,splitK,us,kernelName"
        write(tmp_path, {f"old_{NAME}": one(old, M=" 8 ", kernelName="_Z1"), NAME: one()})
        merged = merge(load_tables([tmp_path], options(gfx={304: "gfx942"})))
        assert merged.decode().splitlines()[1] == "gfx942,304,8,512,7168,asm,,0,4.5,_Z1,,,"

    def test_a_count_that_no_cell_tells_is_filled(self, tmp_path: Path) -> None:
        write(tmp_path, {NAME: "gfx,m,n,k,us,kernelName\ngfx942,8,512,7168,4.5,_Z1\n"})
        merged = merge(load_tables([tmp_path], options()))
        assert merged.decode() == "gfx,cu_num,m,n,k,us,kernelName\ngfx942,304,8,512,7168,4.5,_Z1\n"

    def test_sizes_in_letters_of_both_kinds_cannot_be_one_table(self, tmp_path: Path) -> None:
        write(tmp_path, {f"1_{NAME}": "gfx,m,n,k,us\n", f"2_{NAME}": "gfx,M,N,K,us\n"})
        with pytest.raises(InputError, match="T014"):
            merge(load_tables([tmp_path], options()))

    def test_a_merged_table_reads_as_its_parts(self, tmp_path: Path) -> None:
        parts = sorted(AITER.rglob("*a8w8_bpreshuffle_tuned_gemm*.csv"))
        before = load_tables(parts, options())
        write(tmp_path, {"a8w8_bpreshuffle.csv": merge(before)})
        after = load_tables([tmp_path], options())

        def facts(tables: object) -> list[str]:
            rows = tables.rows  # type: ignore[attr-defined]
            return sorted(
                repr((r.target, r.shape, r.discriminators, r.library, r.kernel, r.k_batch, r.us)) for r in rows
            )

        assert facts(after) == facts(before)

    def test_tables_that_cannot_be_one_are_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Callable[[str, str], None]
    ) -> None:
        write(tmp_path, {
            f"t/{NAME}": table(SLOW, FAST),
            "t/a8w8_bpreshuffle.csv": one(BPRESHUFFLE_HEADER),
            "t/old_a8w8_blockscale.csv": one("cu_num,M,N,K,us,kernelName", cu_num="256"),
        })  # fmt: skip
        monkeypatch.chdir(tmp_path)
        with pytest.raises(InputError) as caught:
            merge(load_tables([Path("t")], options()))
        golden("errors/tables/merge.txt", f"{caught.value}\n")

    def test_what_a_table_differs_from_is_the_first(self, tmp_path: Path) -> None:
        write(tmp_path, {f"t/{NAME}": one(), "t/a8w8_bpreshuffle.csv": one(BPRESHUFFLE_HEADER)})
        with pytest.raises(InputError) as caught:
            merge(load_tables([tmp_path / "t"], options()))
        (problem,) = caught.value.diagnostics
        assert problem.message.endswith("its module and key columns are a8w8_bpreshuffle (q_dtype_w)")
        assert problem.detail == ("expected a8w8_blockscale",)


class TestUpgrade:
    def test_the_column_is_put_first_and_every_other_byte_stays(self, tmp_path: Path) -> None:
        old = "cu_num,token,topk,us"
        text = f"\ufeff{old}\r\n\r\n80,1,2,3.0 \r\n 304 ,1,2,3\n80,1"
        write(tmp_path, {"fmoe.csv": text, NAME: one(), "shapes.csv": "M,N,K\n1,2,3\n"})
        plan = plan_upgrades([tmp_path], options(gfx={80: "gfx942", 304: "gfx942"}))
        assert plan.diagnostics == ()
        assert [(upgrade.display, upgrade.cells) for upgrade in plan.tables] == [
            (f"{tmp_path.as_posix()}/fmoe.csv", (("gfx942", 3),))
        ]
        write_files({upgrade.source: upgrade.data for upgrade in plan.tables})
        expected = f"\ufeffgfx,{old}\r\n\r\ngfx942,80,1,2,3.0 \r\ngfx942, 304 ,1,2,3\ngfx942,80,1"
        assert (tmp_path / "fmoe.csv").read_bytes() == expected.encode()
        assert plan_upgrades([tmp_path], options()).tables == ()

    def test_a_type_that_nothing_tells_is_put_first_where_it_is_assumed(self, tmp_path: Path) -> None:
        header = "cu_num,M,N,K,us,kernelName"
        write(tmp_path, {"a8w8.csv": one(header, cu_num="80"), "bf16.csv": one(), "a8w8_bpreshuffle.csv": one()})
        write(tmp_path, {"a4w4_blockscale.csv": one(), "b_a8w8.csv": one(f"{header},q_dtype_w")})
        write(tmp_path, {"c_a8w8.csv": "M,N,K\n1,2,3\n"})
        asked = replace(options(gfx={80: "gfx942", 304: "gfx942"}), assume_dtype=DType.INT8)
        found = {upgrade.source.name: upgrade for upgrade in plan_upgrades([tmp_path], asked).tables}
        assert {name: upgrade.cells for name, upgrade in found.items()} == {
            "a8w8.csv": (("gfx942", 1), ("torch.int8", 1)), "b_a8w8.csv": (("gfx942", 1),),
        }  # fmt: skip
        lines = found["a8w8.csv"].data.decode().splitlines()
        assert lines == [f"gfx,q_dtype_w,{header}", "gfx942,torch.int8,80,16,512,7168,4.5,k"]

    def test_a_table_with_an_unknown_count_stays_whole(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Callable[[str, str], None]
    ) -> None:
        header = "cu_num,M,N,K,us,kernelName"
        rows = (row(header, cu_num="80"), row(header, cu_num="256"), row(header, cu_num="256"))
        write(tmp_path, {"t/a8w8.csv": table(*rows, header=header), "t/b_a8w8.csv": "M,N,K,us\n1,2,3,4\n"})
        write(tmp_path, {"t/c_a8w8.csv": table(row(header, cu_num="x"), row(header, cu_num=""), header=header)})
        write(tmp_path, {"t/d_a8w8.csv": "M,N,K,us,cu_num\n1,2,3,4\n"})
        monkeypatch.chdir(tmp_path)
        plan = plan_upgrades([Path("t")], options(gfx={80: "gfx942"}))
        assert plan.tables == ()
        assert [d.severity for d in plan.diagnostics] == [Severity.WARNING] * 2 + [Severity.ERROR] * 3
        golden("errors/tables/upgrade.txt", "".join(f"{d.render()}\n" for d in plan.diagnostics))

    def test_real_moe_tables_upgrade_where_the_count_tells(self, tmp_path: Path) -> None:
        shutil.copytree(AITER, tmp_path / "t")
        before = tree(tmp_path)
        plan = plan_upgrades([tmp_path / "t"], options(gfx={80: "gfx942", 304: "gfx942", 256: "gfx950"}))
        assert len(plan.tables) == 13
        assert [d.location and d.location.file.rsplit("/", 1)[1] for d in plan.diagnostics] == ["asm_a8w8_gemm.csv"]
        write_files({upgrade.source: upgrade.data for upgrade in plan.tables})
        for name, data in tree(tmp_path).items():
            stripped = [line.split(b",", 1)[1] if b"," in line else line for line in data.splitlines(keepends=True)]
            assert before[name] in (data, b"".join(stripped))


class TestStats:
    def test_groups_count_rows_kernels_problems_and_times(self, tmp_path: Path) -> None:
        rows = (FAST, SLOW, row(M="1", us="inf"), row(cu_num="80"), row(libtype="asm"), row(M="x"))
        stats = table_stats(load(tmp_path, {NAME: table(*rows), "s.csv": "M,N,K\n1,2,3\n"}))
        assert [(kind.kind, kind.files, kind.rows) for kind in stats.kinds] == [
            ("gemm_tuned", 1, 6), ("gemm_shapes", 1, 1),
        ]  # fmt: skip
        assert stats.invalid == 1
        assert [
            (g.module, g.target, g.library, g.rows, g.kernels, g.problems, g.timed, g.us) for g in stats.groups
        ] == [
            ("a8w8_blockscale", "gfx942:80", "ck", 1, 1, 1, 1, (4.5, 4.5)),
            ("a8w8_blockscale", "gfx942:304", "asm", 1, 1, 1, 1, (4.5, 4.5)),
            ("a8w8_blockscale", "gfx942:304", "ck", 3, 3, 2, 2, (4.1, 4.3)),
        ]

    def test_the_real_tables(self, golden: Callable[[str, str], None]) -> None:
        stats = table_stats(load_tables([AITER], options(gfx={304: "gfx942"})))
        lines = [f"{kind.kind}: {kind.files} files, {kind.rows} rows" for kind in stats.kinds]
        lines += [
            f"{g.module} {g.target or 'no target'} {g.library}: {g.rows} rows, {g.kernels} kernels, "
            f"{g.problems} problems, {g.timed} timed {g.us}"
            for g in stats.groups
        ]
        golden("tables/stats_aiter.txt", "".join(f"{line}\n" for line in lines))
