"""Decision rules of this CPU: every candidate for products of public models timed, a rule fitted, kept if it is good.

    python tools/learn_cpu_rules.py                     # ten minutes on a machine that does nothing else

Writes codegen/ckgen/families/gemm/heuristics/learned/ARCH_PRODUCT_SIGNATURE.json of each signature whose rule loses
less than what selection takes, on layers that it was not fitted to; says the figures of both. Journals stay in --work,
and what they hold is not measured again. With --measure-only there are journals alone, and `--journals` judges and fits
those of another machine of this product. With --shard a run measures a part of the layers, so that several machines or
cores measure at once:

    taskset -c 2,3 python tools/learn_cpu_rules.py --shard 1/2 --work W --measure-only &
    taskset -c 4,5 python tools/learn_cpu_rules.py --shard 2/2 --work W --measure-only
    python tools/learn_cpu_rules.py --work W --journals
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ckgen.families.gemm.heuristic import FOLDER
from ckgen.specs.native import own_cpu
from ckgen.workload.shape_list import AskedShape, write_shapes

SIGNATURES = ("gemm_fp32_rcr", "gemm_bf16_rcr")
LAYERS = (
    (4096, 1024), (1024, 2048), (6144, 1024), (1024, 3072),  # Qwen3 0.6B
    (1152, 896), (896, 4864),  # Qwen2.5 0.5B
    (1600, 960), (576, 1536),  # SmolLM2 360M and 135M
    (768, 768), (3072, 768),  # BERT base
    (1536, 384),  # MiniLM
    (1536, 640),  # Gemma 3 270M
    (768, 4096), (4096, 512),  # Mistral 7B on 8 ranks
)  # fmt: skip
"""N and K of products of models; sizes that a CPU is asked for."""
LADDERS = ((1, 3, 4, 12, 16, 48, 64, 512), (2, 6, 8, 24, 32, 96, 128, 1024))
"""Of M, for layers in turn: each has powers of two and what lies below them."""
_NOISE = 1.05
"""A floor of the regret above which a machine was not quiet."""
_OF_TILES = ("gemm_bf16_rcr",)
_BLOCKS = """\
op: gemm
name: tiles
signatures: [{signature}]
backend: host
targets: [x86_64_amx]
configs:
  register: [16x32, 32x32]
  block: [32x512x1024, 64x512x1024, 128x512x1024, 64x512x4096, 128x256x2048]
"""
"""Further blocks of AMX's tiles, of which set `full` has one for each register tile."""
_MOST = 1 << 30
"""M · N · K: larger products take too long to time every candidate."""


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=FOLDER / "learned", help="Folder of the rules.")
@click.option("--work", type=click.Path(path_type=Path), default=Path("learn_cpu"), help="Folder of the journals.")
@click.option("--budget", default="240s", show_default=True, help="Time of each signature's measurements.")
@click.option("--signature", "signatures", multiple=True, default=SIGNATURES, help="May be repeated.")
@click.option("--shard", default="1/1", show_default=True, metavar="I/N", help="Measure part I of N of the layers.")
@click.option("--built", type=click.Path(path_type=Path), help="Folder of libraries, where --build-only put them.")
@click.option("--target", default="native", show_default=True, help="Of --build-only, where more cores build than run.")
@click.option("--build-only", is_flag=True, help="Build the libraries that are timed.")
@click.option("--measure-only", is_flag=True, help="Write journals alone.")
@click.option("--journals", "is_measured", is_flag=True, help="Measure nothing: the journals are in --work.")
def main(
    out: Path, work: Path, budget: str, signatures: Sequence[str], shard: str, built: Path | None, target: str,
    *, build_only: bool, measure_only: bool, is_measured: bool,
) -> None:  # fmt: skip
    """Measures, fits, judges, writes."""
    work.mkdir(parents=True, exist_ok=True)
    for signature in signatures:
        if not is_measured:
            further = ("--build-only",) if build_only else ()
            library = ("--work", str(built)) if built is not None else ()
            _measure(signature, work, shard, "--budget", budget, "--target", target, *library, *further)
        if measure_only or build_only:
            continue
        journals = [word for one in sorted(work.glob(f"{signature}.*.jsonl")) for word in ("--journal", str(one))]
        found = json.loads(_ckgen(*_eval(signature, journals), "--json", read=True))
        _ckgen(*_eval(signature, journals))
        _ckgen("predict", "calibrate", *journals)
        why = _why_not(found, sum(1 for _ in problems(signature)))
        if why:
            print(f"{signature}: no rule is written: {why}")
        else:
            device = filter(None, (own_cpu().gfx, own_cpu().sku))
            rule = out / f"{'_'.join((*device, signature))}.json"
            _ckgen("heuristic", "fit", signature, "--arch", "native", *journals, "--out", str(rule))


def _why_not(found: Mapping[str, Any], asked: int) -> str:
    """Why the rule is not worth a file; empty where it is."""
    fitted, before = (found["ways"][way]["all"]["regret"] for way in ("fitted, 8 folds", "selected before"))
    noise = found["ceilings"]["other half"]["all"]["regret"]["geomean"]
    if found["rows"] < asked:
        return f"{found['rows']} of {asked} problems were timed within the budget; run it again to go on"
    if noise > _NOISE:
        return f"noise alone makes {noise:.3f} of the regret: something else ran; remove the journal and run it again"
    if fitted["geomean"] >= before["geomean"] or fitted["p95"] > before["p95"]:
        return f"it loses {fitted}, what selection takes {before}"
    return ""


def _eval(signature: str, journals: Sequence[str]) -> tuple[str, ...]:
    return ("heuristic", "eval", signature, "--arch", "native", *journals, "--folds", "8", "--drop", "20%")


def _measure(signature: str, work: Path, shard: str, *words: str) -> None:
    part = work / f"{signature}.{shard.replace('/', 'of')}"
    shapes, blocks = Path(f"{part}.csv"), work / f"{signature}.yaml"
    write_shapes(shapes, dict.fromkeys(problems(signature), 1))
    text = _BLOCKS.format(signature=signature)
    if not blocks.exists() or blocks.read_text(encoding="utf-8") != text:  # another part may be reading it
        blocks.write_text(text, encoding="utf-8")
    further = ("--kernel-set", str(blocks)) if signature in _OF_TILES and own_cpu().gfx == "x86_64_amx" else ()
    _ckgen(
        "tune", "gemm", *words, "--shapes", str(shapes), "--kernel-set", "full", *further,
        "--kernels", f"{signature}_host_*_t0", "--exhaustive",
        "--shard", shard, "--out", f"{part}.tuned.csv", "--journal", f"{part}.jsonl", "--resume",
    )  # fmt: skip


def problems(signature: str) -> Iterator[AskedShape]:
    """Of every layer those of its ladder that are not too large."""
    for index, (n, k) in enumerate(sorted(LAYERS)):
        for m in LADDERS[index % len(LADDERS)]:
            if m * n * k <= _MOST:
                yield AskedShape(signature, 0, m, n, k)


def _ckgen(*words: str, read: bool = False) -> str:
    done = subprocess.run([sys.executable, "-m", "ckgen", *words], check=True, text=True, capture_output=read)
    return done.stdout if read else ""


if __name__ == "__main__":
    main()
