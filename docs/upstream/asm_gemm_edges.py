"""Shows in ckgen's emulator what asm_gemm_edges.md says: `python docs/upstream/asm_gemm_edges.py`."""

from __future__ import annotations

from dataclasses import replace

from ckgen_emulator.production import bf16_gemm, fp4_gemm
from ckgen_emulator.production.gemm_parts import GemmProblem
from ckgen_emulator.production.model import Kind
from ckgen_emulator.production.run import run_production
from ckgen_emulator.production.wheel import KernelFile

F4 = "f4gemm/f4gemm_bf16_per1x32Fp4_BpreShuffle_"
BF16 = "bf16gemm/bf16gemm_outf32_tn_"
LAUNCHES: tuple[tuple[Kind, str, str, GemmProblem], ...] = (
    *((fp4_gemm.KIND, "gfx950", F4 + "256x256", fp4_gemm.Problem(8, n, 512)) for n in (32, 256, 288)),
    *(
        (fp4_gemm.KIND, "gfx950", F4 + tile, fp4_gemm.Problem(8, 288, 512))
        for tile in ("192x256", "224x256", "160x256", "32x128")
    ),
    (fp4_gemm.KIND, "gfx950", F4 + "128x512", fp4_gemm.Problem(8, 544, 512)),
    *(
        (fp4_gemm.KIND, "gfx950", F4.replace("_B", "_noB") + "256x256", fp4_gemm.Problem(m, n, k))
        for m, n, k in ((8, 288, 512), (1, 256, 256), (256, 256, 256))
    ),
    *(
        (fp4_gemm.KIND, "gfx950", F4 + "256x256", fp4_gemm.Problem(m, 256, k))
        for m, k in ((1, 256), (2, 256), (1, 512))
    ),
    *(
        (bf16_gemm.KIND, arch, f"{BF16}{tile}x64_pf3", GemmProblem(m, 64, k))
        for arch in ("gfx942", "gfx950")
        for tile in (32, 48, 64, 96)
        for m, k in ((1, 64), (1, 128), (2, 64), (3, 64), (1, 192))
    ),
)


def main() -> None:
    """One line per launch: what is wrong in D, and the first finding of each rule."""
    for kind, arch, path, problem in LAUNCHES:
        one = replace(kind, problems=lambda file, problem=problem: {"edge": problem})
        outcome = run_production(one, KernelFile(arch, path), "edge")
        wrong = sum(each.wrong for each in outcome.compared)
        print(f"{arch} {path} M={problem.m} N={problem.n} K={problem.k}: {wrong} elements wrong")
        first = {finding.rule: finding for finding in reversed(outcome.findings)}
        for rule, finding in sorted(first.items()):
            print(f"  {rule} at {finding.address:#x}: {finding.what}")


if __name__ == "__main__":
    main()
