from __future__ import annotations

from cli_support import as_json, ok


def test_problems_of_models_are_listed() -> None:
    rows = as_json("list", "fmha-problems")
    first = rows[0]
    assert first["model"] == "meta-llama/Llama-3.1-8B" and first["phase"] == "prefill"
    assert first["signature"] == "fmha_bf16_masked" and first["mask"] == "b:-1,0" and first["softcap"] is None
    assert (first["heads"], first["lengths"], first["hdims"]) == ([32, 8], [8192, 8192], [128, 128])
    assert "heads: num_attention_heads, num_key_value_heads" in first["config"]
    lines = ok("list", "fmha-problems").splitlines()
    assert len(lines) == len(rows) and lines[0].split()[:3] == [first["model"], "prefill", "fmha_bf16_masked"]
    assert not any("num_attention_heads" in line for line in lines)
