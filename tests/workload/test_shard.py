"""Layers on a rank, held against the sizes that tables were tuned for: nobody derived those with this code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from workload_support import MODELS, experts, model, named, products, rows, tuned, written

from ckgen.model.errors import InputError
from ckgen.workload.layer import Attention, Experts, Product
from ckgen.workload.model_config import read_model
from ckgen.workload.shard import Parallel, layers_of

QWEN3_6 = "a8w8_blockscale_tuned_gemm_qwen36_27b"
QWEN3_VL_32B = "a8w8_blockscale_tuned_gemm_qwen3_vl_32b"
QWEN3_VL_235B = "a8w8_blockscale_tuned_gemm_qwen3_vl_235b"


@pytest.mark.parametrize(
    ("name", "table", "count"),
    [
        ("qwen3_6_27b_fp8", QWEN3_6, 14),
        ("qwen3_vl_32b_fp8", QWEN3_VL_32B, 12),
        ("qwen3_vl_235b_a22b_fp8", QWEN3_VL_235B, 6),
    ],
)
def test_two_four_and_eight_ranks_ask_for_exactly_the_sizes_of_the_model_s_table(
    name: str, table: str, count: int
) -> None:
    assert products(name, (2, 4, 8)) == tuned(table)
    assert len(tuned(table)) == count


def test_eight_ranks_of_latent_attention_and_experts_ask_for_sizes_of_the_model_s_table() -> None:
    found = products("deepseek_v3", (8,))
    assert len(found) == 8 and found <= tuned("a8w8_blockscale_tuned_gemm_ds_v3")


def test_linear_attention_shared_experts_and_repeated_heads_are_those_of_the_model_s_table() -> None:
    found = products("qwen3_next_80b_a3b_fp8", (1, 2, 4))
    untuned = {(512, 2048), (2048, 256)}
    assert tuned("a8w8_blockscale_tuned_gemm_qwen3_next_80b_a3b") == found - untuned and untuned < found


def test_experts_with_the_shared_one_among_them_are_those_of_the_model_s_table() -> None:
    (layer,) = experts(layers_of(model("deepseek_v3"), Parallel(8, fuse_shared=True)))
    table = {
        tuple(int(row[name]) for name in ("inter_dim", "model_dim", "expert", "topk"))
        for row in rows("a8w8_blockscale_tuned_fmoe_ds_v3")
    }
    assert (layer.inter, layer.hidden, layer.experts, layer.top_k) in table


def test_whole_experts_go_to_ranks_where_asked() -> None:
    (cut,) = experts(layers_of(model("mixtral_8x7b"), Parallel(4)))
    (whole,) = experts(layers_of(model("mixtral_8x7b"), Parallel(4, ep=True)))
    assert cut == Experts(3584, 4096, 8, 2) and whole == Experts(14336, 4096, 2, 2)


def test_heads_of_k_and_v_are_repeated_where_ranks_outnumber_them() -> None:
    found = named(layers_of(model("qwen3_235b_a22b_fp8"), Parallel(16)))
    assert found["attention"].work == Attention(4, 1, 128, 128)
    assert found["qkv"].work == Product((4 + 2) * 128, 4096)


def test_dense_layers_before_those_of_experts_are_counted_apart() -> None:
    found = named(layers_of(model("glm_4_5"), Parallel(2)))
    assert (found["gate_up"].count, found["experts"].count, found["qkv"].count) == (3, 89, 92)


def test_sparse_steps_and_dense_layers_by_number_are_counted(tmp_path: Path) -> None:
    config = json.loads((MODELS / "qwen3_235b_a22b_fp8.json").read_text()) | {
        "num_hidden_layers": 10, "decoder_sparse_step": 2, "mlp_only_layers": [1, 3],
    }  # fmt: skip
    found = named(layers_of(read_model(written(tmp_path, json.dumps(config))), Parallel(1)))
    assert (found["gate_up"].count, found["experts"].count) == (7, 3)


def test_types_of_layers_decide_before_the_interval(tmp_path: Path) -> None:
    config = json.loads((MODELS / "qwen3_next_80b_a3b_fp8.json").read_text())
    config["layer_types"] = ["linear_attention"] * 40 + ["full_attention"] * 8
    found = named(layers_of(read_model(written(tmp_path, json.dumps(config))), Parallel(1)))
    assert (found["attention"].count, found["linear out"].count) == (8, 40)


def test_a_vocabulary_is_padded_to_a_multiple_of_64(tmp_path: Path) -> None:
    config = json.loads((MODELS / "mistral_7b.json").read_text()) | {"vocab_size": 32001}
    found = named(layers_of(read_model(written(tmp_path, json.dumps(config))), Parallel(2)))
    assert found["lm_head"].work == Product(32064 // 2, 4096)


@pytest.mark.parametrize(
    ("name", "tp", "key", "message"),
    [
        ("qwen3_6_27b_fp8", 5, "num_attention_heads", "num_attention_heads of 24 is no multiple of 5 ranks"),
        ("qwen3_6_27b_fp8", 6, "num_key_value_heads", "4 heads of K and V and 6 ranks: neither divides the other"),
        ("mistral_7b", 3, "num_attention_heads", "num_attention_heads of 32 is no multiple of 3 ranks"),
        ("qwen3_6_27b_fp8", 24, "linear_num_key_heads", "linear_num_key_heads of 16 is no multiple of 24 ranks"),
    ],
)
def test_sizes_that_ranks_cannot_share_are_said_with_their_line(name: str, tp: int, key: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        layers_of(model(name), Parallel(tp))
    (found,) = caught.value.diagnostics
    lines = (MODELS / f"{name}.json").read_text().splitlines()
    assert found.code == "M004" and message in found.message and found.location is not None
    assert f'"{key}"' in lines[found.location.line - 1]


def test_every_example_is_sharded_as_its_golden_says(golden: Callable[[str, str], None]) -> None:
    texts = []
    for path in sorted(MODELS.glob("*.json")):
        lines = [
            f"  {layer.name:<18} {layer.count:>3}  {layer.work.text}{'' if layer.quantized else '  as it is'}"
            for layer in layers_of(read_model(path), Parallel(8))
        ]
        texts.append("\n".join([path.stem, *lines]))
    golden("workload/layers_tp8.txt", "\n".join(texts) + "\n")
