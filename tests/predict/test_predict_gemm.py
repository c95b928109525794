from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from ckgen import paths
from commands import as_json, run

FEW = ("--tuning", str(paths.tuning_dir() / "ckgen" / "mxfp8_tuned_gemm.csv"))
"""A table of another signature, where no row of the shipped ones has a part in what is asked."""


@cache
def predicted(target: str, signature: str, shape: str, *words: str) -> dict[str, Any]:
    asked = ("predict", "gemm", "--target", target, "--signature", signature, "--shape", shape, *words)
    document: dict[str, Any] = as_json(*asked)
    return document


@pytest.mark.parametrize(
    ("target", "signature", "tables"),
    [("gfx942:304", "a8w8_blockscale", ()), ("gfx90a", "gemm_bf16_rcr", FEW), ("gfx1201", "gemm_fp16_rcr", FEW),
     ("x86_64_v4:4", "gemm_fp32_rcr", FEW)],
)  # fmt: skip
def test_every_target_has_predictions_the_best_ranked_first(
    target: str, signature: str, tables: tuple[str, ...]
) -> None:
    found = predicted(target, signature, "128,4096,4096", *tables)["predicted"]
    ranked = [one["ranked_us"] for one in found]
    assert ranked == sorted(ranked) and all(one["us"] > 0 for one in found)


def test_where_nothing_was_fitted_kernels_rank_by_their_times_and_elsewhere_by_what_tables_told_of_them() -> None:
    unknown = predicted("gfx90a", "gemm_bf16_rcr", "128,4096,4096", *FEW)["predicted"]
    assert [one["ranked_us"] for one in unknown] == [one["us"] for one in unknown]
    known = predicted("gfx950:256", "a8w8_blockscale", "128,4096,4096")["predicted"]
    assert min(known, key=lambda one: one["us"]) is not known[0]


def test_terms_are_said_and_globs_and_counts_choose() -> None:
    every = predicted("gfx942:304", "a8w8_blockscale", "128,4096,4096")
    assert every["constants"].startswith("fitted to 21904 rows")
    assert {"waves", "fill", "compute", "cache", "memory", "launch"} <= set(every["predicted"][0]["terms"])
    assert {one["k_batch"] for one in every["predicted"]} == {1, 2, 4, 8}
    v1 = predicted("gfx942:304", "a8w8_blockscale", "128,4096,4096", "--kernels", "*_v1", "--best", "2")["predicted"]
    assert [one["instance"][-2:] for one in v1] == ["v1", "v1"]


def test_a_given_clock_and_bandwidth_make_a_kernel_slower() -> None:
    asked = ("gfx90a", "gemm_bf16_rcr", "4096,4096,4096", *FEW, "--best", "1")
    (usual,) = predicted(*asked)["predicted"]
    (slow,) = predicted(*asked, "--ghz", "0.5")["predicted"]
    narrow = ("1,8192,8192", *FEW, "--best", "1", "--gb-per-s", "10")
    (starved,) = predicted("gfx90a", "gemm_bf16_rcr", *narrow)["predicted"]
    assert slow["us"] > 2 * usual["us"] and starved["us"] > 8192 * 8192 * 2 / 10e3


def test_without_a_kernel_the_exit_code_says_so() -> None:
    words = ["--target", "gfx90a", "--signature", "gemm_bf16_rcr", "--shape", "1,64,64", "--kernels", "nothing"]
    done = run("predict", "gemm", *words, *FEW)
    assert done.exit_code == 1 and "no kernel" in done.output
