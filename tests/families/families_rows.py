"""The shipped GEMM tables, read without any of ckgen's own readers."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache

from ckgen import paths

MODULE_OF_FILE = (
    ("a8w8_blockscale_bpreshuffle_tuned_gemm", "a8w8_blockscale_bpreshuffle"),
    ("a8w8_blockscale_tuned_gemm", "a8w8_blockscale"),
    ("a8w8_bpreshuffle_tuned_gemm", "a8w8_bpreshuffle"),
    ("a8w8_tuned_batched_gemm", "batched_a8w8"),
    ("bf16_tuned_batched_gemm", "batched_bf16"),
    ("a8w8_tuned_gemm", "a8w8"),
    ("a4w4_blockscale_tuned_gemm", "a4w4_blockscale"),
)


@dataclass(frozen=True)
class Row:
    """One measured row, as its cells say."""

    file: str
    module: str
    library: str
    gfx: str
    cu_num: int
    batch: int
    m: int
    n: int
    k: int
    split_k: int
    dtype: str | None
    kernel: str


Rows = tuple[Row, ...]


@cache
def read_rows() -> Rows:
    """Every row of the GEMM tables."""
    found: list[Row] = []
    for path in sorted((paths.tuning_dir() / "aiter").rglob("*.csv")):
        module = next((module for part, module in MODULE_OF_FILE if part in path.name), None)
        if module is None:
            continue
        with path.open(encoding="utf-8-sig", newline="") as lines:
            for raw in csv.DictReader(lines):
                cells = {key.strip(): (value or "").strip() for key, value in raw.items() if key}
                kernel = cells["kernelName"]
                library = cells.get("libtype") or ("asm" if kernel.startswith("_Z") else "ck")
                m, n, k, split_k = (int(cells[key]) for key in ("M", "N", "K", "splitK"))
                found.append(
                    Row(
                        path.name, module, library, cells["gfx"], int(cells["cu_num"]), int(cells.get("B", "0")),
                        m, n, k, split_k, cells.get("q_dtype_w"), kernel,
                    )
                )  # fmt: skip
    return tuple(found)
