"""The host side of the MX-FP8 kernels: grids, argument bytes, and each refusal from both sides; sizes only."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable

import pytest

from ckgen import paths

PROGRAM = """#include <cstdio>
#include "backends/hip/mxfp8_host.hpp"
using namespace ckgen;
int main() {
  long long v[19];
  char kind;
  while (std::scanf(" %c", &kind) == 1) {
    const int count = kind == 'g' ? 12 : 19;
    for (int i = 0; i < count; ++i)
      if (std::scanf("%lld", &v[i]) != 1) return 1;
    const auto at = [](long long address) { return reinterpret_cast<void*>(address); };
    static KernelCall call;
    Status status{};
    if (kind == 'g') {
      GemmArgs args{};
      args.a = at(v[0]), args.b = at(v[1]), args.c = at(64), args.a_scale = at(3), args.b_scale = at(5);
      args.m = v[2], args.n = v[3], args.k = v[4], args.lda = v[5], args.ldb = v[6], args.ldc = v[7];
      args.batch = v[8], args.mx_scale_shuffled = v[9] != 0;
      Launch launch{};
      launch.args = &args, launch.k_batch = static_cast<std::uint32_t>(v[10]);
      status = hip::prepare_mx_gemm({"kernel", 8, 16, 256, v[11]}, launch, call);
    } else {
      const hip::MxMoeArgs args{at(v[0]), at(1), at(v[1]), at(2), at(64), nullptr, nullptr, nullptr,
                                v[2] != 0 ? static_cast<const float*>(at(4)) : nullptr, v[3], v[4], v[5], v[6], v[7],
                                static_cast<int>(v[8]), static_cast<int>(v[9]), static_cast<int>(v[10]),
                                static_cast<int>(v[11])};
      const hip::MxKernel kernel{"kernel", static_cast<std::uint32_t>(v[14]), 8, 512, 128};
      status = hip::prepare_mx_moe(kernel, args, {v[12], v[13]}, call);
    }
    if (!status.ok()) {
      std::printf("%d %s\\n", static_cast<int>(status.code), status.message);
      continue;
    }
    std::printf("0 %u %u %u %u ", call.grid[0], call.grid[1], call.block[0], call.dynamic_lds);
    for (std::uint32_t i = 0; i < call.args_size; ++i) std::printf("%02x", call.args[i]);
    std::printf("\\n");
  }
}
"""

Ask = Callable[[str, list[int]], str]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """One line to the program, its answer."""
    folder = tmp_path_factory.mktemp("mxfp8_host")
    (folder / "ask.cpp").write_text(PROGRAM, encoding="utf-8")
    folders = [f"-I{paths.dispatcher_dir() / name}" for name in ("include", ".")]
    command = ["g++", "-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror", *folders, "-o", "ask", "ask.cpp"]
    subprocess.run(command, cwd=folder, check=True)

    def one(kind: str, values: list[int]) -> str:
        padded = [*values, *[0] * ((12 if kind == "g" else 19) - len(values))]
        line = " ".join([kind, *map(str, padded)])
        return subprocess.run([folder / "ask"], input=line, capture_output=True, text=True, check=True).stdout.strip()

    return one


GEMM = {
    "a": 1024, "b": 4096, "m": 8, "n": 40, "k": 256, "lda": 272, "ldb": 256, "ldc": 41, "batch": 1, "shuffled": 0,
    "k_batch": 1, "grain": 128,
}  # fmt: skip


def gemm(ask: Ask, **changed: int) -> str:
    return ask("g", list({**GEMM, **changed}.values()))


def test_a_gemm(ask: Ask) -> None:
    bytes_ = struct.pack("<5Q6q", 1024, 3, 4096, 5, 64, 8, 40, 256, 272, 256, 41)
    assert gemm(ask) == f"0 3 1 256 0 {bytes_.hex()}"
    assert gemm(ask, m=17).startswith("0 3 3 256 0 ")


LARGE = 2**31


@pytest.mark.parametrize(
    ("taken", "refused", "says"),
    [
        ({"k": 384, "lda": 384, "ldb": 384}, {"k": 352}, "K = 352 is not a multiple of 128"),
        ({"k": 32, "grain": 32}, {"k": 48, "grain": 32}, "K = 48 is not a multiple of 32"),
        ({"lda": 288}, {"lda": 280}, "rows of A do not begin at multiples of 16 bytes"),
        ({"b": 4112}, {"b": 4104}, "rows of B do not begin at multiples of 16 bytes"),
        (
            {"n": LARGE // 256},
            {"n": LARGE // 256 + 1, "ldc": LARGE // 256 + 1},
            "B of 8388609 rows, 256 elements apart",
        ),
        ({"m": 2, "lda": LARGE - 256}, {"m": 2, "lda": LARGE - 240}, "A of 2 rows, 2147483408 elements apart"),
        ({"m": 2, "ldc": LARGE // 2 - 40}, {"m": 2, "ldc": LARGE // 2 - 39}, "C of 2 rows, 1073741785 elements apart"),
        ({"batch": 1}, {"batch": 2}, "neither batches nor splits of K"),
        ({"k_batch": 0}, {"k_batch": 2}, "neither batches nor splits of K"),
        ({"shuffled": 0}, {"shuffled": 1}, "scales are read row by row, not shuffled"),
    ],
)
def test_refusals_of_a_gemm(ask: Ask, taken: dict[str, int], refused: dict[str, int], says: str) -> None:
    assert gemm(ask, **taken).startswith("0 ")
    answer = gemm(ask, **refused)
    assert answer.startswith("1 kernel: ") and says in answer


MOE = {
    "a": 1024, "b": 4096, "has_weights": 1, "tokens": 8, "n": 6144, "k": 768, "lda": 768, "ldc": 6144, "experts": 256,
    "top_k": 8, "a_div": 1, "by_position": 0, "sorted_ids": 1024, "weights": 64, "block_m": 16,
}  # fmt: skip
GATE_UP = {"has_weights": 0, "n": 1536, "k": 6144, "lda": 6144, "ldc": 1536, "experts": 128, "a_div": 8}


def moe(ask: Ask, **changed: int) -> str:
    return ask("m", list({**MOE, **changed}.values()))


def test_a_product_of_experts(ask: Ask) -> None:
    """Down of 256 experts, 1.2 GB of weights."""
    bytes_ = struct.pack("<9Q5q4i", 1024, 1, 4096, 2, 64, 0, 0, 0, 4, 8, 6144, 768, 768, 6144, 256, 8, 1, 0)
    assert moe(ask) == f"0 768 64 512 0 {bytes_.hex()}"
    assert moe(ask, by_position=1, weights=1024).startswith("0 ")


@pytest.mark.parametrize(
    ("taken", "refused", "says"),
    [
        ({}, {"k": 1536, "lda": 1536}, "K = 1536 is outside of the envelope"),
        ({**GATE_UP, "k": 1024}, {**GATE_UP, "k": 1152}, "K = 1152 is outside of the envelope"),
        ({}, {"tokens": 9, "weights": 72}, "9 tokens, at most 8 with 256 experts and K = 768"),
        ({**GATE_UP, "tokens": 64}, {**GATE_UP, "tokens": 65}, "65 tokens, at most 64"),
        (
            {**GATE_UP, "experts": 127, "tokens": 16},
            {**GATE_UP, "experts": 127, "tokens": 17},
            "17 tokens, at most 16 with 127 experts",
        ),
        ({"sorted_ids": 1008}, {"sorted_ids": 1000}, "1000 sorted ids are no whole blocks of 16"),
        ({**GATE_UP, "experts": 227}, {**GATE_UP, "experts": 256}, "B of 393216 rows, 6144 elements apart"),
        ({}, {"weights": 63}, "63 routing weights, not 64"),
        ({"by_position": 1, "weights": 1024}, {"by_position": 1, "weights": 64}, "64 routing weights, not 1024"),
        ({"a_div": 8}, {"a_div": 2}, "a_div = 2 is neither 1 nor top_k = 8"),
    ],
)
def test_refusals_of_experts(ask: Ask, taken: dict[str, int], refused: dict[str, int], says: str) -> None:
    assert moe(ask, **taken).startswith("0 ")
    answer = moe(ask, **refused)
    assert answer[0] in "12" and says in answer
