"""`ckgen shapes`: layers, what answers them, and lists of shapes."""

from __future__ import annotations

import csv
from pathlib import Path

from cli_support import AITER, REPOSITORY

from commands import as_json, run

MODELS = REPOSITORY / "examples" / "models"
TABLE = AITER / "model_configs" / "a8w8_blockscale_tuned_gemm_qwen3_vl_235b.csv"
QWEN = ("shapes", str(MODELS / "qwen3_vl_235b_a22b_fp8.json"))


def test_the_table_of_a_model_covers_its_products_at_every_m_that_it_measured(tmp_path: Path) -> None:
    found = as_json(*QWEN, "--tp", "2,4", "--target", "gfx942:304", "--m", "16,1024", "--tuning", str(TABLE))
    tiers = {(line["tp"], line["layer"]): line["tiers"] for line in found["layers"]}
    assert tiers[2, "qkv"] == {"exact": 2} == tiers[4, "qkv"]
    assert "exact" not in tiers[2, "router"] and "exact" not in tiers[2, "experts"]
    assert tiers[2, "attention"] is None
    assert tiers[2, "o"] == {"exact": 2} and "exact" not in tiers[4, "o"]
    assert found["tiers"]["exact"] == 6
    assert sum(found["tiers"].values()) == 2 * 9  # the router of both is one problem
    assert found["m"] == [16, 1024] and found["architecture"] == "Qwen3VLMoeForConditionalGeneration"


def test_what_no_row_measured_is_written_as_a_list_of_shapes(tmp_path: Path) -> None:
    out = tmp_path / "shapes.csv"
    options = (
        "--tp",
        "2",
        "--target",
        "gfx942:304",
        "--m",
        "16",
        "--tuning",
        str(TABLE),
        "--untuned",
        "--out",
        str(out),
    )
    assert run(*QWEN, *options).exit_code == 0
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(row["signature"], row["N"], row["K"], row["experts"], row["top_k"]) for row in rows} == {
        ("gemm_bf16_rcr", "128", "4096", "0", "0"),
        ("gemm_bf16_rcr", "75968", "4096", "0", "0"),
        ("moe_fp8_fnuz_bf16_rcr_blockscale_preshuffle_layer_gated_epi_silu", "768", "4096", "128", "8"),
    }
    assert {row["M"] for row in rows} == {"16"}


def test_why_a_layer_is_unsupported_is_said() -> None:
    done = run(*QWEN, "--tp", "8", "--target", "gfx942:304", "--m", "16", "--tuning", str(TABLE))
    assert (
        "unsupported, experts at tp 8: K = 192 is not a multiple of 128 (rule gemm.blockscale.k-group)" in done.stdout
    )


def test_a_quantization_that_is_not_known_asks_for_the_signature() -> None:
    model = ("shapes", str(MODELS / "gpt_oss_120b.json"))
    assert "quantization 'mxfp4' of experts is not known: name --expert-signature" in run(*model).stderr
    named = as_json(*model, "--expert-signature", "moe_bf16_rcr_preshuffle_layer_gated_epi_silu")
    assert next(line for line in named["layers"] if line["layer"] == "experts")["signature"].startswith("moe_bf16")


def test_products_are_of_the_signature_that_is_named() -> None:
    found = as_json("shapes", str(MODELS / "qwen3_32b.json"), "--signature", "a8w8:int8")
    signatures = {line["layer"]: line["signature"] for line in found["layers"]}
    assert signatures["qkv"] == "a8w8:int8" and signatures["lm_head"] == "gemm_bf16_rcr"


def test_ranks_and_tables_of_nothing_are_refused() -> None:
    assert run(*QWEN, "--tp", "0").exit_code == 2
    assert run(*QWEN, "--tp", "two").exit_code == 2
    assert "--untuned needs --target" in run(*QWEN, "--untuned").stderr
    assert run("shapes", "nothing.json").exit_code == 3
    assert run(*QWEN, "--tp", "3").exit_code == 3
