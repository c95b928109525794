"""Many kernels and problems: what is missing is built, then every kernel runs in a process of its own."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from ckgen.build.amd.model import AmdToolchain
from ckgen.model.errors import UsageError
from ckgen.model.target import Target
from ckgen_emulator.apart import run_apart
from ckgen_emulator.core_library import core_library
from ckgen_emulator.gemm.build import BuildContext, Built, build_kernels
from ckgen_emulator.gemm.job import Answer, Job
from ckgen_emulator.gemm.kernel import DEVICE_LIBRARY, LIBRARY, GemmKernel, units_of
from ckgen_emulator.gemm.problem import GemmProblem
from ckgen_emulator.gemm.result import GemmResult
from ckgen_emulator.gemm.runtime import Runtime
from ckgen_emulator.isa import isa_text


@dataclass(frozen=True, slots=True)
class Request:
    """Problems of one kernel on one target."""

    kernel: GemmKernel
    cu_num: int
    problems: tuple[GemmProblem, ...]

    @property
    def target(self) -> Target:
        """The simulated device."""
        return Target(self.kernel.arch, self.cu_num)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How the emulator runs: `threads` of one launch; `processes` side by side; `findings_fail`: a launch of which
    something was found fails, and a plan ends there; `trace`: a file for every instruction of the GPU runs;
    `trace_wrong`: of a wrong result, find what wrote its first wrong element, in a second run; `seconds` after which a
    process is ended."""

    checked: bool = True
    threads: int = 1
    processes: int = 1
    most_findings: int = 20
    findings_fail: bool = True
    trace: Path | None = None
    trace_wrong: bool = False
    seconds: float | None = None


def emulate(
    requests: Iterable[Request],
    runtime: Runtime,
    context: BuildContext,
    options: RunOptions,
    heard: Callable[[GemmResult], None] = lambda result: None,
) -> tuple[GemmResult, ...]:
    """Every problem's result, in the order of the requests; `heard` hears of each as soon as its process ends."""
    asked = tuple(requests)
    units = [units_of(one.kernel, [problem.use for problem in one.problems]) for one in asked]
    built = build_kernels(units, context)
    found: dict[int, tuple[GemmResult, ...]] = {}
    core = core_library()
    with tempfile.TemporaryDirectory(prefix="ckgen-emulate-") as folder:
        tables = {
            arch: table_file(context.toolchain, arch, Path(folder)) for arch in {one.kernel.arch for one in asked}
        }
        machine = _Machine(runtime, options, core, tables, Path(folder))
        with ThreadPoolExecutor(max(options.processes, 1)) as pool:
            waiting = {
                pool.submit(machine.run, number, request, library): number
                for number, (request, library) in enumerate(zip(asked, built, strict=True))
            }
            for done in as_completed(waiting):
                found[waiting[done]] = done.result()
                for result in done.result():
                    heard(result)
    return tuple(result for number in range(len(asked)) for result in found[number])


@dataclass(frozen=True, slots=True)
class _Machine:
    runtime: Runtime
    options: RunOptions
    core: Path
    tables: Mapping[str, Path]
    folder: Path

    def run(self, number: int, request: Request, built: Built) -> tuple[GemmResult, ...]:
        """The request's results, in its order; problems with one schedule share a process."""
        found: dict[int, GemmResult] = {}
        if built.library is None:
            return tuple(self._result(request, one, None, (built.failure_text,)) for one in request.problems)
        seeds = dict.fromkeys(problem.seed for problem in request.problems)
        for seed in seeds:
            left = [index for index, problem in enumerate(request.problems) if problem.seed == seed]
            while left:
                problems = [request.problems[index] for index in left]
                answers, trouble = self._process(f"{number}-{seed}-{len(left)}", request, built.library, problems)
                for index, answer in zip(left, answers, strict=False):
                    found[index] = self._result(request, request.problems[index], answer, answer.trouble)
                left = left[len(answers) :]
                if trouble and left:  # the one it was at; the others get a new process
                    found[left[0]] = self._result(request, request.problems[left[0]], None, (trouble,))
                    left = left[1:]
        return tuple(found[index] for index in range(len(request.problems)))

    def _result(
        self, request: Request, problem: GemmProblem, answer: Answer | None, trouble: tuple[str, ...]
    ) -> GemmResult:
        instance = request.kernel.instance
        return GemmResult(instance.name, instance.table_kernel, str(request.target), problem, answer, trouble)

    def _process(
        self, name: str, request: Request, library: Path, problems: Sequence[GemmProblem]
    ) -> tuple[list[Answer], str]:
        """The answers that a process gave, and why it gave no more."""
        place = self.folder / name
        instance = request.kernel.instance
        work = Job(
            dispatcher=str(self.runtime.dispatcher),
            hip=str(self.runtime.hip),
            kernel=str(library),
            library=LIBRARY,
            device_library=DEVICE_LIBRARY,
            instance=instance.name,
            signature=instance.signature.canonical(),
            target=str(request.target),
            report=f"{place}.report",
            answers=f"{place}.answers",
            problems=tuple(problems),
            trace_wrong=self.options.trace_wrong,
        )
        file = place.with_suffix(".json")
        file.write_text(json.dumps(work.to_json()), encoding="utf-8")
        told = (self.tables[request.kernel.arch], request.target, work.report, self.options, problems[0].seed)
        environment = worker_environment(self.runtime.hip, self.core, *told)
        trouble = run_apart("ckgen_emulator.gemm.worker", file, environment, self.options.seconds)
        answers = list(_answers(Path(work.answers)))
        return answers, "" if len(answers) == len(problems) else trouble


def worker_environment(
    hip: Path, core: Path, table: Path, target: Target, report: str, options: RunOptions, seed: int = 0
) -> Mapping[str, str]:
    """What a process is told whose HIP runtime is the emulator with that device; its launches go to `report`."""
    told = {
        "checked": int(options.checked),
        "seed": seed,
        "threads": options.threads,
        "most_findings": options.most_findings,
        "findings_fail": int(options.findings_fail),
    }
    variables = {
        "CKGEN_HIP_LIBRARY": str(hip),
        "CKGEN_EMULATOR": str(core),
        "CKGEN_EMULATOR_TABLE": str(table),
        "CKGEN_EMULATOR_TARGET": str(target),
        "CKGEN_EMULATOR_OPTIONS": ",".join(f"{name}={value}" for name, value in told.items()),
        "CKGEN_EMULATOR_REPORT": report,
    }
    if options.trace is not None:
        variables["CKGEN_EMULATOR_TRACE"] = str(options.trace.absolute())
    return variables


def table_file(toolchain: AmdToolchain, arch: str, folder: Path) -> Path:
    """The file with the arch's opcodes. UsageError without a table of them."""
    if toolchain.decoder is None:
        raise UsageError("a ROCm has no instruction tables: `ckgen toolchain amd` prepares them")
    place = folder / f"{arch}.isa"
    place.write_text(isa_text(toolchain.decoder, arch), encoding="utf-8")
    return place


def _answers(place: Path) -> Iterator[Answer]:
    try:
        text = place.read_text(encoding="ascii")
    except FileNotFoundError:
        return
    for line in text.splitlines(keepends=True):
        if line.endswith("\n"):
            yield Answer.from_json(json.loads(line))
