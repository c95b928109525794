"""The host side of the MX-FP8 kernels: grids, argument bytes, and each refusal from both sides; sizes only."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable

import pytest

from ckgen import paths

PROGRAM = """#include <cstdio>
#include "backends/hip/mxfp8_moe_host.hpp"
using namespace ckgen;
int main() {
  long long v[14];
  char kind;
  while (std::scanf(" %c", &kind) == 1) {
    const int count = kind == 'g' ? 12 : 14;
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
      Signature signature{Op::moe, DType::fp8_ocp, DType::fp8_ocp, DType::bf16, DType::fp32, DType::e8m0, Layout::rcr,
                          Quant::mx};
      signature.moe = {v[0] != 0 ? MoePart::down : MoePart::gate_up, v[1] != 0, v[2] != 0};
      Problem problem(signature);
      problem.shape(v[3], v[4], v[5]).block_m(16);
      problem.routing({static_cast<std::uint16_t>(v[6]), static_cast<std::uint16_t>(v[7])});
      MoeArgs args{};
      args.a = at(v[8]), args.a_scale = at(1), args.w1 = args.w2 = at(v[9]), args.w1_scale = at(2);
      args.w2_scale = at(3), args.c = at(64), args.tokens = v[3], args.lda = v[10], args.ldc = v[11];
      args.sorted.weights = static_cast<float*>(at(4));
      args.a_scale_row_major = v[12] == 0, args.mx_scale_shuffled = v[13] != 0;
      Launch launch{};
      launch.problem = &problem, launch.moe = &args, launch.workspace = at(128);
      status = hip::prepare_mx_moe({"kernel", 16, 8, 512, 128}, launch, call);
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
    sources = ["ask.cpp", str(paths.dispatcher_dir() / "src" / "moe" / "sort.cpp")]
    command = ["g++", "-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", *folders, "-o", "ask", *sources]
    subprocess.run(command, cwd=folder, check=True)

    def one(kind: str, values: list[int]) -> str:
        padded = [*values, *[0] * ((12 if kind == "g" else 14) - len(values))]
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
    "down": 1, "gated": 0, "weight_first": 0, "tokens": 8, "n": 6144, "k": 768, "experts": 256, "top_k": 8, "a": 1024,
    "b": 4096, "lda": 768, "ldc": 6160, "sorted_scales": 0, "shuffled": 0,
}  # fmt: skip
GATE_UP = {"down": 0, "gated": 1, "n": 768, "k": 6144, "lda": 6144, "ldc": 768, "experts": 128}


def moe(ask: Ask, **changed: int) -> str:
    return ask("m", list({**MOE, **changed}.values()))


def test_a_product_of_experts(ask: Ask) -> None:
    """Down of 256 experts, 1.2 GB of weights, to rows of slots; gate_up to C, half of a workgroup's rows of B being
    the gate's."""
    down = struct.pack("<9Q5q2i", 1024, 1, 4096, 3, 128, 0, 0, 0, 4, 8, 6144, 768, 768, 6144, 256, 8)
    assert moe(ask) == f"0 768 64 512 0 {down.hex()}"
    assert struct.pack("<Q", 4).hex() not in moe(ask, weight_first=1)
    gate_up = struct.pack("<9Q5q2i", 1024, 1, 4096, 2, 64, 0, 0, 0, 0, 8, 768, 6144, 6144, 768, 128, 8)
    assert moe(ask, **GATE_UP) == f"0 192 64 512 0 {gate_up.hex()}"
    assert struct.pack("<Q", 4).hex() in moe(ask, **GATE_UP, weight_first=1)


@pytest.mark.parametrize(
    ("taken", "refused", "says"),
    [
        ({"lda": 784}, {"lda": 776}, "rows of A do not begin at multiples of 16 bytes"),
        ({"b": 4112}, {"b": 4104}, "rows of B do not begin at multiples of 16 bytes"),
        ({"lda": 32 * 1024 * 1024}, {"lda": 40 * 1024 * 1024}, "A of 64 rows, 41943040 elements apart"),
        ({**GATE_UP, "experts": 227}, {**GATE_UP, "experts": 228}, "B of 350208 rows, 6144 elements apart"),
        ({}, {"shuffled": 1}, "the kernel reads scales row by row, not sorted and not shuffled"),
        ({}, {"sorted_scales": 1}, "the kernel reads scales row by row, not sorted and not shuffled"),
    ],
)
def test_refusals_of_experts(ask: Ask, taken: dict[str, int], refused: dict[str, int], says: str) -> None:
    assert moe(ask, **taken).startswith("0 ")
    answer = moe(ask, **refused)
    assert answer[0] == "1" and says in answer
