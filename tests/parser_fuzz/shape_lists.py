"""Lists of shapes: what is read is written, and read again as the same."""

from __future__ import annotations

from collections.abc import Sequence

from ckgen.workload.shape_list import COLUMNS, read_shapes, write_shapes
from parser_fuzz.target import Target, file_of, refusal

_HEAD = ",".join(COLUMNS) + "\n"


def run(data: bytes) -> None:
    """Reads a list; writes what it means and reads that."""
    with refusal():
        counts = read_shapes(file_of(data, "shapes.csv"))
        again = file_of(b"", "written.csv")
        write_shapes(again, counts)
        assert read_shapes(again) == counts


def seeds() -> Sequence[bytes]:
    """One of each operation, one without a target, and one that a killed process left."""
    lists = [
        _HEAD + "gfx942,304,gemm_bf16_rcr_batched,7,1,2,3,0,0,,4\ngfx942,80,moe_x,0,1,2,3,8,2,,1\n",
        _HEAD + "gfx942,304,grouped_gemm_bf16_rcr,0,64,512,1024,0,0,8*64x512x1024;32x512x1024,1\n",
        _HEAD + ",,fmha_bf16,0,0,0,0,0,0,batch=2 heads_q=32 mask=b:-1;0,1\n",
        "signature,B,M,N,K,experts,top_k,count\ngemm_bf16_rcr,0,1,2,3,0,0,4\n",
        _HEAD + "gfx942,304,gemm_bf16_rcr,0,1,2,3,0,0,,4\ngfx942,304,gemm_bf",
    ]
    return [text.encode() for text in lists]


TARGET = Target("shape_lists", run, seeds, (b"gfx942", b",,", b"\n", b"8*1x2x3", _HEAD.encode()))
