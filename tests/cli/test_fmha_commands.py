"""`lookup`, `explain`, `generate`, `export` and `list` of attention: sizes as words, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import as_json, ok, run

SIZES = ("heads_q=32", "seqlen_q=4096", "hdim_q=128")
APPEND = ("heads_q=32", "seqlen_new=3", "seqlen_k=4096", "hdim_q=128")
ASKED = ("fmha:bf16_masked", "--target", "gfx942", "heads_k=8", *SIZES)


def test_sizes_that_are_left_out_are_those_of_q() -> None:
    found = as_json("lookup", *ASKED)
    assert found["shape"] == {
        "batch": 1, "heads_q": 32, "heads_k": 8, "seqlen_q": 4096, "seqlen_k": 4096, "hdim_q": 128, "hdim_v": 128,
        "mask": "b:-1,0",
    }  # fmt: skip
    assert (found["signature"], found["tier"], found["target"]) == ("fmha_bf16_masked", "default", "gfx942:304")
    assert found["instance"].startswith("fmha_bf16_masked_ck_tile_qr_async_pad1011_128x128x")
    odd = as_json("lookup", *ASKED, "seqlen_k=100", "mask=topleft")
    assert "_pad1111_" in odd["instance"] and odd["shape"]["mask"] == "t:-1,0"


@pytest.mark.parametrize(
    ("word", "mask"),
    [
        ("causal", "b:-1,0"),
        ("none", "b:-1,-1"),
        ("window:127,0", "b:127,0"),
        ("t:1,2,3", "t:1,2,3"),
    ],
)
def test_masks(word: str, mask: str) -> None:
    assert as_json("lookup", *ASKED, f"mask={word}")["shape"]["mask"] == mask


@pytest.mark.parametrize("op", [("fmha:bf16_masked",), ("fmha_bf16_masked",), ("fmha", "--signature", "bf16_masked")])
def test_a_signature_stands_behind_the_op_or_is_an_option(op: tuple[str, ...]) -> None:
    text = ok("lookup", *op, "--target", "x86_64_v4:8", *SIZES)
    assert text.startswith("fmha bf16·bf16→bf16 masked  batch=1 heads_q=32 heads_k=32 seqlen_q=4096")
    assert "\n  default  fmha_bf16_masked_host_32x64_t0\n  k_batch  1\n" in text


@pytest.mark.parametrize(
    "words", ["masked_blocktable", "varlen_masked_lse_pagelist", "varlen_masked_pagelist_vectorized"]
)
def test_a_cpu_has_kernels_over_pages_without_a_kernel_set(words: str) -> None:
    found = as_json("lookup", f"fmha:bf16_{words}", "--target", "x86_64_v3", "page_size=16", "pages=300", *SIZES)
    assert found["instance"] == f"fmha_bf16_{words}_host_16x64_t0"


def test_a_trail_says_what_every_kernel_lacks() -> None:
    document = as_json("explain", *ASKED, "hdim_v=100", code=0)
    rules = {step["rule"] for step in document["trail"] if step["status"] == "rejected"}
    assert rules == {"fmha.instance.hdim", "fmha.instance.hdim-multiple"}
    assert document["trail"][-1]["status"] == "taken"
    assert "supports: ok (hdim_q ≤ " in ok("explain", *ASKED, "hdim_v=100")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ("fmha:bf16_fp8_bf16_append_pertensor_blocktable", "--target", "gfx1100", "page_size=16", *APPEND),
            "fmha.no-append",
        ),
        (
            ("fmha:bf16_masked_blocktable_vectorized", "--target", "gfx942", "page_size=12", *SIZES),
            "fmha.shape.vectors",
        ),
        (("fmha:bf16_alibi", "--target", "gfx942", "seqlen_k=70000", *SIZES), "fmha.instance.max-keys"),
        (("fmha:bf16_vcolumn", "--target", "gfx942", *SIZES), "gemm.no-instance"),
        (("fmha:fp8_bf16_pertensor", "--target", "gfx1100", *SIZES), "gemm.no-instance"),
        (("fmha:bf16", "--target", "gfx942", "heads_k=5", *SIZES), "fmha.shape.head-groups"),
        (("fmha:bf16_masked", "--target", "x86_64_v3", "hdim_v=257", *SIZES), "fmha.shape.hdim"),
    ],
)
def test_what_nothing_takes_is_exit_1_with_the_rule(arguments: tuple[str, ...], reason: str) -> None:
    for command in ("lookup", "explain"):
        found = as_json(command, *arguments, code=1)
        assert found["instance"] is None and found["reason"].endswith(f"(rule {reason})")


@pytest.mark.parametrize(
    ("signature", "target", "why"),
    [
        ("fp8_bf16_pertensor", "gfx90a", "hip.fwd.types: gfx90a has no 8-bit floats (fp8, limit none)"),
        ("fp8_ocp_bf16_pertensor", "gfx942", "hip.fwd.types: 8-bit floats of gfx942 (fp8_ocp, limit fp8_fnuz"),
        ("bf16_vcolumn", "gfx942", "no kernel set that is read asks for it"),
        ("fp8_ocp_pertensor", "x86_64_v3", "no kernel set that is read asks for it"),
        ("bf16_elementwise_lse_dropout", "gfx942", "no kernel set that is read asks for it"),
        ("bf16", "gfx942", None),
        ("bf16", "gfx1100", None),
    ],
)
def test_what_is_absent_is_named_with_its_rule(signature: str, target: str, why: str | None) -> None:
    words = (f"fmha:{signature}", "--target", target, *SIZES, *(["page_size=16"] if "table" in signature else []))
    found = as_json("lookup", *words, code=1 if why else 0)["absent"]
    assert (found or "").startswith(why or "") and (found is None) == (why is None)
    for command in ("lookup", "explain"):
        text = run(command, *words).stdout
        assert ("  absent  " in text) == (why is not None) and (why or "") in text


def test_a_problem_that_appends_is_asked_by_its_new_rows() -> None:
    found = as_json("lookup", "fmha:bf16_append_blocktable_rope_half", "--target", "x86_64_v3", "page_size=16", *APPEND)
    assert found["instance"] == "fmha_bf16_append_blocktable_rope_half_host_8x8_t0"
    sizes = found["shape"]
    assert (sizes["seqlen_new"], sizes["seqlen_q"], sizes["rotary_dim"], sizes["seqlen_k"]) == (3, 3, 128, 4096)
    text = ok("explain", "fmha:bf16_append_rope_half", "--target", "x86_64_v3", "rotary_dim=6", "seqlen_q=0", *APPEND)
    assert "seqlen_q=0 seqlen_k=4096 hdim_q=128 hdim_v=128 seqlen_new=3 rotary_dim=6  on x86_64_v3" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("fmha:bf16_masked", "headsq=1"), "word 1, 'headsq=1': unknown key 'headsq'; did you mean 'heads_q'?"),
        (("fmha:bf16_masked", *SIZES, "128"), "word 4, '128', is no KEY=VALUE"),
        (("fmha:bf16_masked", *SIZES, "heads_q=1"), "word 4, 'heads_q=1': heads_q stands twice"),
        (("fmha:bf16", *SIZES, "mask=causal"), "word 4, 'mask=causal': the signature has no use for mask"),
        (("fmha:bf16", *SIZES, "total_q=9"), "the signature has no use for total_q"),
        (("fmha:bf16", "heads_q=1"), "fmha_bf16 needs seqlen_q=…, hdim_q=…"),
        (("fmha:bf16_append", "heads_q=1"), "fmha_bf16_append needs seqlen_new=…, seqlen_k=…, hdim_q=…"),
        (("fmha:bf16_append", *APPEND, "rotary_dim=8"), "the signature has no use for rotary_dim"),
        (("fmha:bf16", *SIZES, "batch=many"), "batch=many: not an integer"),
        (("fmha:bf16_masked", *SIZES, "mask=diagonal"), "mask 'diagonal' is not none, causal"),
        (("fmha", *SIZES), "fmha needs one signature"),
        (("fmha:bf16", "--signature", "bf16", *SIZES), "fmha needs one signature"),
        (("fmha:bf16", "--shape", "1,2,3", *SIZES), "--shape is not an option of fmha"),
        (("fmha:bf17", *SIZES), "not a canonical signature: 'fmha_bf17'"),
        (("gemm", "--signature", "bf16", "batch=2"), "'batch=2': the sizes of gemm are options, not KEY=VALUE"),
        (("gemm", "--shape", "1,2,3"), "gemm needs --signature"),
    ],
)
def test_wrong_words_are_exit_2_with_their_place(words: tuple[str, ...], said: str) -> None:
    for command in ("lookup", "explain"):
        result = run(command, *words, "--target", "gfx942")
        assert result.exit_code == 2 and said in result.stderr and result.stdout == "", result.stderr


def test_a_kernel_set_brings_kernels_that_are_no_defaults() -> None:
    words = ("fmha:bf16_blocktable_vectorized", "--target", "gfx942", "--kernel-set", "asm", "heads_q=32", "heads_k=8")
    words += ("seqlen_q=1", "seqlen_k=4096", "hdim_q=128", "page_size=16", "pages=256", "finite_kv=1")
    instance = as_json("lookup", *words, "min_seqlen_k=1")["instance"]
    assert instance.endswith("_asm_pa_bf16_noquant_gqa8_1tg_4w")
    refused = run("explain", *words)
    assert refused.exit_code == 1 and f"{instance}   k_batch 1\n               rejected: " in refused.stdout
    assert "(rule fmha.instance.keys)" in refused.stdout


def test_a_library_of_a_profile_is_generated_exported_and_made_again(tiny: Path) -> None:
    words = ("--ops", "fmha", "--targets", "gfx942;x86_64_v3", "--profile", "minimal")
    made = as_json("generate", *words, "--out", "one")
    assert sum(made["instances"].values()) == 80 and len(made["instances"]) == 44
    (tiny / "registry.json").write_text(ok("export", *words))
    again = as_json("generate", "--registry", "registry.json", "--out", "two")
    assert again["instances"] == made["instances"]
    one, two = (tiny / folder / "fmha_bf16_masked/unit.cpp" for folder in ("one", "two"))
    assert one.read_text() == two.read_text() and "ckgen::launch_fmha" in one.read_text()
    listed = as_json("list", "instances", *words)
    assert {one["op"] for one in listed["instances"]} == {"fmha"} and listed["counts"]["instances"] == 80
    units = json.loads((tiny / "registry.json").read_text())["units"]
    exported = {instance["name"] for unit in units for instance in unit["instances"]}
    assert exported == {one["name"] for one in listed["instances"]}


def test_a_table_of_attention_answers_and_its_row_is_told(tiny: Path) -> None:
    kernel = "fmha_bf16_blocktable_hip_decode_16x128_128x128"
    (tiny / "attention.csv").write_text(
        "gfx,cu_num,batch,heads_q,heads_k,seqlen_q,seqlen_k,hdim_q,hdim_v,page_size,splitK,us,kernelName\n"
        f"gfx942,304,8,32,8,1,8192,128,128,16,4,38.2,{kernel}\n"
    )
    words = ("fmha:bf16_blocktable", "--tuning", "attention.csv", "--target", "gfx942", "batch=8", "heads_q=32")
    words += ("heads_k=8", "seqlen_q=1", "seqlen_k=5000", "hdim_q=128", "page_size=16")
    found = as_json("lookup", *words)
    assert (found["tier"], found["instance"], found["k_batch"], found["source"]) == (
        "near", kernel, 4, "attention.csv:2",
    )  # fmt: skip
    assert "  row      attention.csv:2  38.2 us measured at batch=8 " in ok("lookup", *words)
    assert "attention.csv:2  38.2 us measured at seqlen_k=8192" in ok("explain", *words)
    assert "gfx942:304 batch=8" in ok("validate", "attention.csv", "--why-not", "attention.csv:2")
