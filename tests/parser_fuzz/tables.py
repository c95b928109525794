"""Tuning tables of every kind: rows are counted once, whatever they hold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ckgen import paths
from ckgen.families.gemm.grammar import fits
from ckgen.families.registry import FAMILIES
from ckgen.families.tables import table_dialects, table_modules
from ckgen.specs.archs import arch_of_cu_num, load_archs
from ckgen.tables import LoadOptions, load_tables
from parser_fuzz.target import Target, file_of, refusal

_NAMES = ("a8w8_bpreshuffle_tuned_gemm.csv", "bf16_tuned_batched_gemm.csv", "tuned.csv")
_LINES = 4


def run(data: bytes) -> None:
    """Reads the bytes as a file of a name that tells its module, and of one that does not."""
    for name in _NAMES:
        table = file_of(data, name)
        with refusal():
            loaded = load_tables([table], _options())
            for one in loaded.diagnostics:
                assert one.code and one.message and one.location is not None, one
                assert one.render()
            for file in loaded.files:
                told = len(file.rows) + len(file.fates)
                assert file.counted is not None or file.row_count == told, (file.row_count, told)


@cache
def _options() -> LoadOptions:
    return LoadOptions(
        frozenset(FAMILIES),
        None,
        table_modules(),
        fits,
        lambda cu_num: arch_of_cu_num(load_archs(), cu_num),
        table_dialects(),
    )


def seeds() -> Sequence[bytes]:
    """The heads of shipped tables, and of those of documents."""
    files = sorted(paths.tuning_dir().rglob("*.csv"))
    kept: dict[bytes, bytes] = {}
    for file in files:
        lines = file.read_bytes().splitlines(keepends=True)
        kept.setdefault(lines[0], b"".join(lines[:_LINES]))
    return list(kept.values())


TARGET = Target(
    "tables", run, seeds, (b"gfx942", b"torch.bfloat16", b"flydsl", b"ck", b"asm", b"inf", b"1_0", b"\xd9\xa3")
)
