from __future__ import annotations

from commands import as_json, ok


def test_problems_of_models_are_listed() -> None:
    rows = as_json("list", "fmha-problems")
    first = rows[0]
    assert first["model"] == "meta-llama/Llama-3.1-8B" and first["phase"] == "prefill"
    assert first["signature"] == "fmha_bf16_masked" and first["mask"] == "b:-1,0" and first["softcap"] is None
    assert (first["heads"], first["lengths"], first["hdims"]) == ([32, 8], [8192, 8192], [128, 128])
    assert "heads: num_attention_heads, num_key_value_heads" in first["config"]
    lines = ok("list", "fmha-problems").splitlines()
    assert len(lines) == len(rows) and lines[0].split()[:4] == [first["model"], "prefill", "fwd", "fmha_bf16_masked"]
    assert not any("num_attention_heads" in line for line in lines)


def test_what_answers_each_problem_of_a_choice() -> None:
    words = ("list", "fmha-problems", "--targets", "gfx942", "--profile", "minimal", "--backend", "ck_tile")
    rows = as_json(*words)
    assert [row["model"] for row in rows] == [row["model"] for row in as_json("list", "fmha-problems")]
    first = rows[0]["answers"]["gfx942:304"]
    assert first["backend"] == "ck_tile" and first["instance"].startswith("fmha_bf16_masked_ck_tile_qr")
    sink = next(row for row in rows if "sink" in row["signature"])["answers"]["gfx942:304"]
    assert (sink["instance"], sink["rule"]) == (None, "gemm.no-instance") and sink["reason"]
    lines = ok(*words).splitlines()
    assert len(lines) == len(rows) + 3 and lines[0].split() == ["model", "phase", "signature", "gfx942:304"]
    for line, direction in zip(lines[-2:], ("fwd", "bwd"), strict=True):
        of = [row for row in rows if row["direction"] == direction]
        answered = sum(row["answers"]["gfx942:304"]["instance"] is not None for row in of)
        assert line.split() == ["answered", direction, str(answered), "of", str(len(of))]


def test_an_arch_says_which_of_its_kernels_rules_refuses_a_problem() -> None:
    words = ("list", "fmha-problems", "--targets", "gfx1100;gfx90a")
    rows = [row for row in as_json(*words) if row["direction"] == "fwd"]
    of_fp8 = [row for row in rows if "fp8" in row["signature"]]
    for target in ("gfx1100:48", "gfx90a:104"):
        refused = [row for row in rows if row["answers"][target]["instance"] is None]
        assert refused == of_fp8 and len(refused) == 4
        whys = {row["answers"][target]["absent"] for row in refused}
        assert whys == {f"hip.fwd.types: {target.partition(':')[0]} has no 8-bit floats (fp8, limit none)"}
    lines = ok(*words).splitlines()
    answers = [line.split()[-2:] for line in lines[1 : len(rows) + 1]]
    assert [answer for answer in answers if "hip.fwd.types" in answer] == [["hip.fwd.types"] * 2] * 4


def test_backward_is_listed_and_answered_as_forward_is() -> None:
    rows = [row for row in as_json("list", "fmha-problems") if row["direction"] == "bwd"]
    assert {row["phase"] for row in rows} == {"training"} and all("_bwd" in row["signature"] for row in rows)
    assert len(rows) > 10 and any("dropout" in row["signature"] for row in rows)
    words = ("list", "fmha-problems", "--targets", "x86_64_v3", "--profile", "receipt:3", "--profile", "training")
    chosen = [row for row in as_json(*words) if row["direction"] == "bwd"]
    assert all(row["answers"]["x86_64_v3:1"]["backend"] == "host" for row in chosen)


def test_the_minimal_profile_answers_the_problems_of_models() -> None:
    words = ("--targets", "gfx942;gfx950;x86_64_v3;x86_64_v4", "--profile", "minimal")
    rows = as_json("list", "fmha-problems", *words)
    counts = as_json("list", "instances", "--ops", "fmha", *words)["counts"]["archs"]
    assert counts and all(count <= 60 for count in counts.values()), counts
    rows = [row for row in rows if row["direction"] == "fwd"]
    for target in ("gfx942:304", "gfx950:256", "x86_64_v3:1", "x86_64_v4:1"):
        assert sum(row["answers"][target]["instance"] is not None for row in rows) >= 0.95 * len(rows)
