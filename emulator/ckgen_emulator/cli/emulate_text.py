"""What `ckgen emulate` prints for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ckgen.cli.output import plural

if TYPE_CHECKING:
    from ckgen.families.common.comparison import Comparison
    from ckgen_emulator.code_object.run import KernelResult
    from ckgen_emulator.fmha.emulate import FmhaResult
    from ckgen_emulator.gemm.problem import GemmProblem
    from ckgen_emulator.gemm.result import GemmResult

_INDENT = 10


def gemm_text(result: GemmResult, *, stats: bool, verbose: bool) -> str:
    """A GEMM's result, its findings and, if wanted, its figures; verbose: how small an error would have been seen."""
    problem = result.problem
    what = f"{_sizes(problem)}, {problem.data.value}, seed {problem.seed}"
    lines = [f"{result.kernel} on {result.target}", _line("problem", what)]
    lines.append(_line("GPU code", _compared(result.gpu)))
    lines.append(_line("host twin", _compared(result.twin)))
    if result.answer is not None and result.answer.origin is not None:
        lines += _origin(result.answer.origin)
    if verbose and result.sensitivity is not None:
        lines.append(_line("sees", str(result.sensitivity)))
    if result.answer is not None and result.instructions:
        seconds = f"{result.answer.seconds:.2f} s"
        lines.append(_line("ran", f"{plural(result.instructions, 'instruction')} of waves in {seconds}"))
    lines += [_line("trouble", text) for text in result.trouble]
    return _ended(lines, result.findings, result.stats() if stats else None, ok=result.ok)


def fmha_text(result: FmhaResult, *, stats: bool) -> str:
    """An attention kernel's result, as `gemm_text`."""
    problem, outcome = result.problem, result.outcome
    lines = [f"{result.kernel} on {result.arch}"]
    lines.append(_line("problem", f"{problem}, {problem.data.value}, seed {problem.seed}"))
    if outcome is None:
        return _ended([*lines, _line("trouble", result.trouble)], (), None, ok=False)
    for one in outcome.compared:
        state = f"largest error {one.max_error:.3g}, {one.excess:.2f} of its bound"
        if one.excess == 0:
            state = "equal to the exact result"
        if one.first is not None:
            first = f"the first {list(one.first.index)}: {one.first.actual:g}, expected {one.first.expected:g}"
            state = f"WRONG: {plural(one.wrong, 'element')}, {first}, {state}"
        lines.append(_line(one.name, state))
    if outcome.origin is not None:
        lines += _origin(outcome.origin)
    lines.append(_line("ran", f"{plural(outcome.instructions, 'instruction')} of waves in {outcome.seconds:.2f} s"))
    findings = (asdict(finding) for finding in outcome.findings)
    return _ended(lines, findings, outcome.stats if stats else None, ok=result.ok)


def kernel_text(result: KernelResult, *, stats: bool) -> str:
    """A kernel's result, as `gemm_text`."""
    lines = [f"{result.kernel} on {result.target}"]
    for one in result.checked:
        state = "as expected" if one.ok else f"{plural(one.wrong, 'element')} wrong"
        lines.append(_line(one.name, f"{state}, largest error {one.max_abs_err:g}, tolerance {one.tolerance:g}"))
    instructions = plural(result.run.instructions, "instruction")
    lines.append(_line("ran", f"{instructions} of waves in {result.seconds:.2f} s"))
    findings = (asdict(finding) for finding in result.run.findings)
    return _ended(lines, findings, result.stats() if stats else None, ok=result.ok)


def _sizes(problem: GemmProblem) -> str:
    if problem.groups:
        where = ", rows known to the device alone" if problem.on_device else ""
        sizes = ",".join(f"{one.m}x{one.n}x{one.k}" for one in problem.groups)
        return f"{sizes} k_batch {problem.k_batch}{where}"
    if problem.routing.experts:
        block = f", blocks of {problem.block_m}" if problem.block_m else ""
        return f"{problem.shape}, {problem.routing.experts} experts, top {problem.routing.top_k}{block}"
    return f"{problem.shape} k_batch {problem.k_batch}"


def _ended(
    lines: list[str], findings: Iterable[Mapping[str, Any]], stats: Mapping[str, Any] | None, *, ok: bool
) -> str:
    found = list(findings)
    for finding in found:
        lines += _finding(finding)
    if stats is not None:
        lines += _stats(stats)
    verdict = "ok" if ok else f"failed: {plural(len(found), 'finding')}" if found else "failed"
    return "\n".join([*lines, verdict])


def _compared(comparison: Comparison | None) -> str:
    if comparison is None:
        return "no result"
    if comparison.first is None:
        if comparison.bound == 0:
            return "equal to the exact result"
        return f"largest error {comparison.max_abs_err:.3g}, {comparison.excess:.2f} of its bound"
    first = comparison.first
    place = f"[{first.batch}, {first.row}, {first.column}]"
    wrong = plural(comparison.wrong, "element")
    return f"WRONG: {wrong}, the first {place}: {first.actual:g}, expected {first.expected:g}"


_WHY = {"launch": "as the launch set it", "host": "as the host left it", "more": "not followed"}
_SHOWN = 24
"""Steps of a trace for people; `--json` has all."""


def _origin(origin: Mapping[str, Any]) -> list[str]:
    """The instructions behind a wrong element, nearest first, each with who wrote what it read."""
    steps = origin["steps"]
    if not steps:
        return [_line("traced", "no instruction wrote the first wrong element")]
    times, kernel = plural(origin["writes"], "time"), steps[0]["kernel"]
    lines = [_line("traced", f"the first wrong element was written {times}, last in {kernel} by #0")]
    followed = [number for number, step in enumerate(steps) if step["operands"] is not None]
    numbers = {number: place for place, number in enumerate(followed[:_SHOWN])}
    for number, place in numbers.items():
        step = steps[number]
        group, lane = ", ".join(map(str, step["group"])), f", lane {step['lane']}" if step["lane"] >= 0 else ""
        lines.append(f"    #{place:<2} {step['instruction']}")
        lines.append(f"        {_place(step, kernel)}, workgroup [{group}], wave {step['wave']}{lane}")
        lines += [f"        {one['name']}: {_writer(one, steps, numbers, kernel)}" for one in step["operands"]]
    more = len(followed) - len(numbers)
    return [*lines, *([f"    and {plural(more, 'instruction')} before them (--json)"] if more else [])]


def _place(step: Mapping[str, Any], kernel: str) -> str:
    of = f" of {step['kernel']}" if step["kernel"] != kernel else ""
    return f"at {step['address']:#x}{of}"


def _writer(
    operand: Mapping[str, Any], steps: Sequence[Mapping[str, Any]], numbers: Mapping[int, int], kernel: str
) -> str:
    if operand["by"] is None:
        return _WHY[operand["why"]]
    if operand["by"] in numbers:
        return f"#{numbers[operand['by']]}"
    step = steps[operand["by"]]
    return f"{step['instruction']} {_place(step, kernel)}"


def _finding(finding: Mapping[str, Any]) -> list[str]:
    symbol = f" of {finding['symbol']}" if "symbol" in finding else ""
    if not finding["instruction"]:
        return [f"{finding['rule']}{symbol}", f"    {finding['what']}"]
    group = ", ".join(map(str, finding["group"]))
    lane = f", lane {finding['lane']}" if finding["lane"] >= 0 else ""
    times = f", {finding['count']:,} times" if finding["count"] > 1 else ""
    return [
        f"{finding['rule']} at {finding['address']:#x}{symbol}",
        f"    {finding['instruction']}",
        f"    {finding['what']}",
        f"    first in workgroup [{group}], wave {finding['wave']}{lane}{times}",
    ]


def _stats(stats: Mapping[str, Any]) -> list[str]:
    classes = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in stats["by_class"].items() if count)
    shown = {name: f"{stats.get(name, 0):,}" for name in ("global_read", "global_written", "lds_read", "lds_written")}
    conflicts, cycles = stats.get("lds_conflict_cycles", 0), stats.get("lds_cycles", 0)
    return [
        _line("classes", classes or "nothing"),
        _line("global", f"{shown['global_read']} bytes read, {shown['global_written']} written"),
        _line("LDS", f"{shown['lds_read']} bytes read, {shown['lds_written']} written"),
        _line("banks", f"{cycles:,} cycles, {conflicts:,} of them for conflicts"),
        _line("occupancy", f"at most {plural(stats['occupancy'], 'workgroup')} per compute unit"),
    ]


def _line(name: str, text: str) -> str:
    return f"  {name:<{_INDENT}} {text}"
