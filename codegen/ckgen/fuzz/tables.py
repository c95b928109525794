"""Small tables for a fuzz run: rows of the shipped ones with sizes small enough that what they choose can run."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from ckgen.specs.targets import target_of_product

_MOST_ROWS = 64
_M = (1, 8, 16, 40, 64, 100, 128, 200)
_NK = ((256, 512), (512, 256), (96, 1024), (128, 1024), (384, 128))
_BATCH = 2
_MOST_LAYERS = 16
_PRODUCTS = ("MI308X", "MI300X", "MI355X")
"""Those of tables that tell only how many CUs there are."""
_DECODING = "MI355X"
"""What the kernels for few rows are for."""
_OWN_LAYERS = ("moe_ck2stages_", "_Z")
_LAYER_NK = ((512, 512), (256, 512), (512, 256))
_TOKENS = (1, 2, 7, 16, 33, 64)
_ROUTINGS = ((4, 2), (8, 2), (5, 5), (8, 1))
_MEASURED = frozenset({"us", "tflops", "bw", "errRatio", "err_ratio"})
_OF_KERNEL = _MEASURED | {"libtype", "kernelId", "solidx", "splitK", "kernelName"}
_KEY_OF_LAYER = (
    "cu_num", "token", "model_dim", "inter_dim", "expert", "topk", "act_type", "dtype", "q_dtype_a", "q_dtype_w",
    "q_type", "use_g1u1", "doweight_stage1",
)  # fmt: skip
_DECODE = """K,N,M,n_sub,k_splits,use_hip
256,512,1,4,4,1
256,512,8,1,8,1
256,512,16,0,0,0
256,512,32,1,8,1
1024,96,4,4,4,1
1024,96,64,2,4,1
1024,96,8,0,0,0
"""
"""Rows that choose configs of the kernels for few rows, and rows that decline them."""


def write_small_tables(shipped: Path, folder: Path) -> None:
    """A file beneath `folder` for each tuned GEMM or MoE table of `shipped`, of each key one row, every target among
    them; and one of the kernels for few rows."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mxfp8.csv").write_text(_decode_table(), encoding="utf-8")
    told: set[tuple[str, ...]] = set()
    for path in sorted({*shipped.rglob("*_tuned_fmoe*.csv"), shipped / "tuned_fmoe.csv"}):
        (folder / path.name).write_text(_shrunk_layers(path.read_text(encoding="utf-8"), told), encoding="utf-8")
    for path in sorted(shipped.glob("*gemm.csv")):
        text = _shrunk(path.read_text(encoding="utf-8"))
        if text:
            (folder / path.name).write_text(text, encoding="utf-8")


def _decode_table() -> str:
    target = target_of_product(_DECODING)
    head, *rows = _DECODE.splitlines()
    return "\n".join([f"{head},gfx,cu_num", *(f"{row},{target.gfx},{target.cu_num}" for row in rows)]) + "\n"


def _gfx_of(cu_num: str) -> str:
    return next(target.gfx for target in map(target_of_product, _PRODUCTS) if str(target.cu_num) == cu_num)


def _shrunk_layers(text: str, told: set[tuple[str, ...]]) -> str:
    """The MoE table with at most _MOST_LAYERS rows of each target, of as many pairs of kernels as there are, those of
    ckgen before other libraries'; without the keys that are `told`."""
    reader = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    columns = tuple(dict.fromkeys((*(reader.fieldnames or ()), "gfx")))
    by_target: dict[str, dict[tuple[str, str], dict[str, str]]] = {}
    for row in reader:
        row["gfx"] = row.get("gfx") or _gfx_of(row["cu_num"])
        pairs = by_target.setdefault(row["cu_num"], {})
        pairs.setdefault((row["kernelName1"], row["kernelName2"]), row)
    found = []
    for pairs in by_target.values():
        rows = sorted(pairs.values(), key=lambda row: not row["kernelName1"].startswith(_OWN_LAYERS))
        for index, row in enumerate(rows[:_MOST_LAYERS]):
            inter, model = _LAYER_NK[index % len(_LAYER_NK)]
            experts, top_k = _ROUTINGS[index // 2 % len(_ROUTINGS)]
            sizes = {"token": _TOKENS[index % len(_TOKENS)], "model_dim": model, "inter_dim": inter}
            sizes |= {"expert": experts, "topk": top_k}
            small = row | {name: str(size) for name, size in sizes.items()}
            key = tuple(small[name] for name in _KEY_OF_LAYER)
            if key not in told:
                told.add(key)
                found.append(small)
    return _written(columns, found)


def _shrunk(text: str) -> str:
    """The table with at most _MOST_ROWS rows of each target; empty for a file that is no tuned GEMM table."""
    reader = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    columns = reader.fieldnames or ()
    if not {"gfx", "cu_num", "M", "N", "K", "kernelName"} <= {*columns}:
        return ""
    by_target: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in reader:
        by_target.setdefault((row["gfx"], row["cu_num"]), []).append(row)
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for rows in by_target.values():
        step = max(len(rows) // _MOST_ROWS, 1)
        for index, row in enumerate(rows[::step]):
            n, k = _NK[index // len(_M) % len(_NK)]
            small = row | {"M": str(_M[index % len(_M)]), "N": str(n), "K": str(k)}
            if "B" in row:
                small["B"] = str(_BATCH)
            found.setdefault(tuple(small[name] for name in columns if name not in _OF_KERNEL), small)
    return _written(columns, found.values())


def _written(columns: Sequence[str], rows: Iterable[dict[str, str]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
