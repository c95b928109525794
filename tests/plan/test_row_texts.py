"""What is said of rows: every fate as a user reads it, and every finding with its place and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ckgen.emit.schema import schema
from ckgen.plan.model import GenerationPlan
from plan_support import GFX942, GFX942_80, LARGE, MIDDLE, SMALL_M, plan_of, row, write_table

ASM = "_ZN5aiter3fooE"
GONE = LARGE.replace("256x128x128x128", "256x128x128x127")
MOE_HEADER = (
    "cu_num,token,model_dim,inter_dim,expert,topk,act_type,dtype,q_dtype_a,q_dtype_w,q_type,use_g1u1,doweight_stage1,"
    "block_m,ksplit,us1,kernelName1,err1,us2,kernelName2,err2,us,run_1stage"
)


def said(plan: GenerationPlan, folder: Path) -> str:
    fates = "".join(f"{fate.location} {fate}\n" for fate in plan.fates)
    findings = "".join(f"{finding.render()}\n" for finding in plan.diagnostics)
    return f"{fates}\n{findings}".replace(f"{folder}/", "")


@pytest.fixture
def layers(tmp_path: Path) -> tuple[Path, Path]:
    rows = [
        row(16), row(32), row(32, MIDDLE), row(48, us=11.0), row(48, us=10.0), row(64, us=-1.0), row(80, us="nan"),
        row(96, errRatio=0.06), row(97, errRatio="nan"), row(98, us=1e-6), row(128, ASM, libtype="asm"),
        row(160, GONE), row(176, "nonsense"), row(192, 'a"b', libtype="other"), row(208, cu_num=80),
        row(224, gfx="gfx950", cu_num=256), row(240, splitK=3), row(256, K=1000), row(16, SMALL_M, N=640),
    ]  # fmt: skip
    later = [row(16, SMALL_M), row(17, us=0.0)]
    old = [row(16).split(",", 1)[1], row(20, cu_num=77).split(",", 1)[1], row(21, cu_num=77).split(",", 1)[1]]
    write_table(tmp_path / "one/a8w8_blockscale.csv", rows)
    write_table(tmp_path / "one/old_a8w8_blockscale.csv", old, "cu_num,M,N,K,libtype,kernelId,splitK,us,kernelName,"
                "tflops,bw,errRatio")  # fmt: skip
    write_table(tmp_path / "two/a8w8_blockscale.csv", later)
    return tmp_path / "one", tmp_path / "two"


@pytest.mark.parametrize("strict", [False, True])
def test_fates_and_findings(
    strict: bool, layers: tuple[Path, Path], tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    plan = plan_of(*layers, targets=(GFX942, GFX942_80), strict=strict, strict_layers=strict, every_row=True)
    golden(f"plan/rows{'_strict' if strict else ''}.txt", said(plan, tmp_path))


FMHA_HEADER = "gfx,cu_num,batch,heads_q,heads_k,seqlen_q,seqlen_k,hdim_q,hdim_v,mask,page_size,splitK,us,kernelName"
TILE = "fmha_bf16_masked_ck_tile_qr_async_pad1011_128x128x32x128x32x128_4x1x1_32x32x16"
OTHER = "fmha_bf16_masked_ck_tile_qr_pad1111_128x128x32x128x32x128_4x1x1_32x32x16"


def test_fates_and_findings_of_attention(tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    def causal(length: int, kernel: str = TILE, *, us: object = 2000, mask: str = "b:-1:0", at: str = "gfx942,304",
               page: str = "", splits: str = "", heads: str = "32,8") -> str:  # fmt: skip
        return f"{at},1,{heads},{length},{length},128,128,{mask},{page},{splits},{us},{kernel}"

    one = [
        causal(4096), causal(2048, OTHER), causal(2048), causal(1024), causal(1024, us=1000), causal(512, us=-1),
        causal(511, us=1e-9), causal(256, "nonsense"), causal(255, mask="none"), causal(254, at="gfx950,256"),
        causal(253, at="gfx1100,96"), causal(252, page="16"), causal(251, splits="4"), causal(250, heads="32,7"),
        causal(249, TILE.replace("_128x128x32", "_128x127x32")), causal(248, TILE.replace("bf16", "fp99")),
    ]  # fmt: skip
    write_table(tmp_path / "one/attention.csv", one, FMHA_HEADER)
    write_table(tmp_path / "two/attention.csv", [causal(4096, OTHER)], FMHA_HEADER)
    profile = tmp_path / "p.yaml"
    profile.write_text("name: mine\nabout: y\nkeep: [{fmha: {bias: alibi}}]\n")
    second = tmp_path / "q.yaml"
    second.write_text("name: yours\nabout: y\nkeep: [{fmha: {varlen: true}}]\n")
    texts = [
        said(plan_of(tmp_path / "one", tmp_path / "two", ops=frozenset({"fmha"}), every_row=True, **options), tmp_path)
        for options in ({}, {"strict": True, "strict_layers": True}, {"profiles": (profile, second)})
    ]
    golden("plan/rows_of_attention.txt", "\n".join(texts))


@pytest.mark.parametrize("kind", ["profile", "registry"])
def test_words_of_a_schema(kind: str, golden: Callable[[str, str], None]) -> None:
    keys, texts = (sorted(set(found)) for found in (keys_of(schema(kind)), texts_of(schema(kind))))
    golden(f"plan/{kind}_schema_words.txt", "".join(f"{word}\n" for word in (*keys, "", *texts)))


def parts(document: Any) -> list[Any]:
    return list(document.values()) if isinstance(document, dict) else document if isinstance(document, list) else []


def keys_of(document: Any) -> Iterator[str]:
    yield from document if isinstance(document, dict) else ()
    for part in parts(document):
        yield from keys_of(part)


def texts_of(document: Any) -> Iterator[str]:
    if isinstance(document, str):
        yield document
    for part in parts(document):
        yield from texts_of(part)
