"""Stream-K over the shapes, types, reductions and layouts that AMD's own bridge to its kernels is held to.

    python tests/stream_k_matrix.py [--json]

Each problem asks for its strategy on a simulated gfx942:304, and the host twin of what is selected computes the
partition of that device. Operands are random, and C is held against the exact result within its own bound, and within
two of the bridge: the largest error over the largest element, and the Frobenius norm of the errors over C's. They are
those of fp16, 2.5e-3 and 1.5e-3 for atomic, of a C of bf16 8 times as much; for the others one rounding, 5e-4.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "codegen"), str(ROOT / "tests")]

import numpy as np  # noqa: E402

from ckgen.families.common.comparison import Expected  # noqa: E402
from ckgen.families.common.storage import decode  # noqa: E402
from ckgen.families.gemm.reference import Operands, expect  # noqa: E402
from ckgen.families.gemm.reference_data import make_operands  # noqa: E402
from ckgen.families.gemm.signature import GemmSignature, parse_signature  # noqa: E402
from ckgen.model.dtype import DType, Fp8Flavour  # noqa: E402
from ckgen.model.strategy import Strategy  # noqa: E402
from ckgen.model.target import Target  # noqa: E402
from ckgen.model.tuned_row import Shape  # noqa: E402
from ckgen.plan.model import GenerationPlan  # noqa: E402
from ckgen.plan.options import PlanOptions  # noqa: E402
from ckgen.plan.planner import make_plan  # noqa: E402
from ckgen.quickstart.verify import Buffers  # noqa: E402
from ckgen.runtime import Options, RuntimeLibrary  # noqa: E402
from ckgen.specs.archs import load_archs  # noqa: E402

NAME = "stream_k_matrix"
TARGET = Target("gfx942", 304)
SHAPES = ((256, 256, 256), (1024, 1024, 1024), (2048, 1024, 512), (256, 256, 4096), (512, 2048, 1024))
TYPES = ("fp16", "bf16", "fp8:fp16", "bf8:fp16")
LAYOUTS = ("rcr", "rrr", "ccr", "crr")
REDUCTIONS = (Strategy.ATOMIC, Strategy.LINEAR, Strategy.TREE)
_BOUNDS = {Strategy.ATOMIC: (2.5e-3, 1.5e-3)}
_ONE_ROUNDING = (5e-4, 5e-4)


@dataclass(frozen=True, slots=True)
class Case:
    """One problem of the matrix."""

    shape: tuple[int, int, int]
    types: str
    layout: str
    reduction: Strategy

    @property
    def signature(self) -> GemmSignature:
        """With the arch's own flavour of fp8."""
        return parse_signature(f"{self.types}:{self.layout}", Fp8Flavour.FNUZ)


@dataclass(frozen=True, slots=True)
class Result:
    """What computed it, how far it is off, and whether that is within all bounds."""

    instance: str
    max_rel: float
    frobenius: float
    excess: float
    ok: bool


def cases(
    shapes: Iterable[tuple[int, int, int]] = SHAPES, layouts: Iterable[str] = LAYOUTS, types: Iterable[str] = TYPES
) -> Iterator[Case]:
    """The matrix, or a part of it."""
    for shape, one, layout, reduction in product(shapes, types, layouts, REDUCTIONS):
        yield Case(shape, one, layout, reduction)


def matrix_plan() -> GenerationPlan:
    """The plan of a library that answers all of it with the shipped defaults."""
    names = tuple(sorted({case.signature.canonical() for case in cases()}))
    options = PlanOptions(targets=(TARGET,), ops=frozenset({"gemm", "stream_k"}), signatures=names)
    return make_plan(options, load_archs())


def run(library: RuntimeLibrary, case: Case) -> Result:
    """Selects, computes and compares a case; RuntimeError where nothing is selected."""
    m, n, k = case.shape
    dispatcher, device = library.dispatcher([NAME], Options()), library.simulated(str(TARGET))
    problem = library.problem(case.signature.canonical(), m, n, k, strategy=case.reduction)
    choice = dispatcher.select(problem, device)
    if choice.instance is None:
        raise RuntimeError(f"{case}: {choice.reason}")
    operands, expected = _problem(case.signature, case.shape)
    buffers = Buffers.of(operands, Shape(0, m, n, k))
    dispatcher.run(dispatcher.plan(problem, device), buffers.args)
    errors = np.abs(decode(buffers.c) - expected.c)
    max_rel = float(errors.max() / np.abs(expected.c).max())
    frobenius = float(np.linalg.norm(errors) / np.linalg.norm(expected.c))
    excess = expected.excess(buffers.c) if case.reduction is not Strategy.ATOMIC else 0.0
    coarser = 8 if case.signature.c is DType.BF16 else 1
    most_rel, most_frobenius = (coarser * bound for bound in _BOUNDS.get(case.reduction, _ONE_ROUNDING))
    ok = max_rel <= most_rel and frobenius <= most_frobenius and excess <= 1
    return Result(choice.instance, max_rel, frobenius, excess, ok)


@cache
def _problem(signature: GemmSignature, shape: tuple[int, int, int]) -> tuple[Operands, Expected]:
    operands = make_operands(signature, Shape(0, *shape), seed=1)
    return operands, expect(operands)


def main() -> int:
    """Runs all of it; 1 where a result is out of its bounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON document of all results")
    arguments = parser.parse_args()
    from runtime_build import load_generated

    counts: Counter[bool] = Counter()
    worst: dict[tuple[str, str], tuple[float, float]] = {}
    found = []
    with tempfile.TemporaryDirectory() as folder:
        library = load_generated(matrix_plan(), NAME, Path(folder))
        for case in cases():
            result = run(library, case)
            counts[result.ok] += 1
            found.append({**asdict(case), **asdict(result)})
            key = case.types, str(case.reduction)
            before = worst.get(key, (0.0, 0.0))
            worst[key] = max(before[0], result.max_rel), max(before[1], result.frobenius)
            if not result.ok:
                print(f"out of bounds: {case}: {result}", file=sys.stderr)
    if arguments.json:
        print(json.dumps(found))
    else:
        for (types, reduction), (max_rel, frobenius) in sorted(worst.items()):
            print(f"{types:10} {reduction:8} max_rel {max_rel:.2e}  frobenius {frobenius:.2e}")
        print(f"{counts[True]} of {sum(counts.values())} within their bounds")
    return 0 if not counts[False] else 1


if __name__ == "__main__":
    sys.exit(main())
