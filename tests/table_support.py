"""Tiny tables, and the options to load them with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ckgen.families.tables import table_dialects, table_modules
from ckgen.model.tuned_row import TunedRow
from ckgen.tables import LoadedTables, LoadOptions, load_tables
from ckgen.tables.dialect import classify

REPOSITORY = Path(__file__).resolve().parents[1]
AITER = REPOSITORY / "tuning" / "aiter"
MODULES = table_modules()

BLOCKSCALE_HEADER = "gfx,cu_num,M,N,K,libtype,kernelId,splitK,us,kernelName,tflops,bw,errRatio"
BPRESHUFFLE_HEADER = "gfx,cu_num,M,N,K,q_dtype_w,libtype,kernelId,splitK,us,kernelName,tflops,bw,errRatio"
BF16_HEADER = (
    "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,kernelName,err_ratio,tflops,bw"
)
MOE_HEADER = (
    "cu_num,token,model_dim,inter_dim,expert,topk,act_type,dtype,q_dtype_a,q_dtype_w,q_type,use_g1u1,doweight_stage1,"
    "block_m,ksplit,us1,kernelName1,err1,us2,kernelName2,err2,us,run_1stage,tflops,bw,_tag"
)

ROW = {
    "gfx": "gfx942", "cu_num": "304", "M": "16", "N": "512", "K": "7168", "B": "4", "libtype": "ck", "kernelId": "3",
    "splitK": "0", "us": "4.5", "kernelName": "k", "tflops": "1.0", "bw": "2.0", "errRatio": "0.01",
    "err_ratio": "0.01", "q_dtype_w": "torch.float8_e4m3fnuz", "bias": "False", "dtype": "torch.bfloat16",
    "outdtype": "torch.bfloat16", "scaleAB": "False", "bpreshuffle": "False", "solidx": "1",
}  # fmt: skip


def row(header: str = BLOCKSCALE_HEADER, **cells: str) -> str:
    """One line of CSV: plausible cells but for those given."""
    return ",".join({**ROW, **cells}[name] for name in header.split(","))


def table(*rows: str, header: str = BLOCKSCALE_HEADER) -> str:
    """A file's text."""
    return "".join(f"{line}\n" for line in (header, *rows))


def one(header: str = BLOCKSCALE_HEADER, **cells: str) -> str:
    """A table of one row."""
    return table(row(header, **cells), header=header)


def options(
    *,
    ops: str = "gemm",
    module: str | None = None,
    fits: Mapping[str, set[str]] | None = None,
    gfx: Mapping[int, str] | None = None,
) -> LoadOptions:
    """Options with the real modules; `fits` and `gfx` are small dictionaries."""
    known = {name: frozenset(found) for name, found in (fits or {}).items()}
    archs: Callable[[int], str | None] = (gfx or {}).get
    fitting = lambda name: known.get(name, frozenset())  # noqa: E731
    return LoadOptions(frozenset(ops.split()), module, MODULES, fitting, archs, table_dialects())


def kind_of(header: str) -> str | None:
    """The kind of the table with these names, between commas; None where it is of none."""
    dialect = classify(header.split(","), table_dialects())
    return dialect.kind if dialect is not None else None


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Writes files beneath `folder`, bytes as they are."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def load(folder: Path, files: Mapping[str, str | bytes], asked: LoadOptions | None = None) -> LoadedTables:
    """Loads `files` as one directory argument."""
    return load_tables([write(folder, files)], asked or options())


def only_row(folder: Path, name: str, text: str | bytes, asked: LoadOptions | None = None) -> TunedRow:
    """The single row of a single table that must load without a complaint."""
    loaded = load(folder, {name: text}, asked)
    assert [problem.render() for problem in loaded.diagnostics] == []
    (found,) = loaded.of(TunedRow)
    return found
