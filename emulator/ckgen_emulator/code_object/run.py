"""Runs one kernel of a code object and holds its arrays against what is expected of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckgen.build.inspect.code_object import Kernel, read_file
from ckgen.model.diagnostic import Diagnostic
from ckgen.model.errors import InputError, UsageError
from ckgen.specs.archs import load_archs
from ckgen.specs.native import native_target
from ckgen.specs.targets import parse_targets
from ckgen_emulator.apart import call_apart
from ckgen_emulator.bindings import Chip, Emulator, Options, Run, stats_of
from ckgen_emulator.chip import pinned_chip
from ckgen_emulator.code_object.arguments import Argument, Arguments, Array, Scalar
from ckgen_emulator.core_library import core_library
from ckgen_emulator.isa import executed_archs

_POINTER = 8
_GRANULE = 4  # bytes: compilers load arguments as whole words


@dataclass(frozen=True, slots=True)
class Checked:
    """An array with an expectation: its largest error, infinite for a NaN where none is expected, and the tolerance."""

    name: str
    max_abs_err: float
    tolerance: float
    wrong: int

    @property
    def ok(self) -> bool:
        """Whether every element is within the tolerance."""
        return self.wrong == 0


@dataclass(frozen=True, slots=True)
class KernelResult:
    """What a launch did."""

    kernel: str
    target: str
    run: Run
    seconds: float
    checked: tuple[Checked, ...]

    @property
    def ok(self) -> bool:
        """Nothing was found, and every expectation holds."""
        return not self.run.findings and all(one.ok for one in self.checked)

    def to_json(self, *, stats: bool = False) -> dict[str, Any]:
        """The document of `ckgen emulate --code-object --json`."""
        checked = [
            {**asdict(one), "max_abs_err": one.max_abs_err if np.isfinite(one.max_abs_err) else None}
            for one in self.checked
        ]
        document: dict[str, Any] = {
            "ok": self.ok,
            "kernel": self.kernel,
            "target": self.target,
            "checked": checked,
            "instructions": self.run.instructions,
            "seconds": round(self.seconds, 3),
            "findings": [asdict(finding) for finding in self.run.findings],
        }
        if stats:
            document["stats"] = self.stats()
        return document

    def stats(self) -> dict[str, Any]:
        """As GemmResult.stats."""
        return stats_of((self.run.figures,))


def run_kernel(
    file: Path,
    kernel: str,
    asked: Arguments,
    options: Options,
    outputs: Path | None,
    step: Callable[[str], None] = lambda text: None,
) -> KernelResult:
    """Launches the kernel; arrays that are outputs are written to `outputs` as NAME.npy. `step` hears what goes on.

    UsageError for a kernel that is not there; InputError for arguments that do not fit it.
    """
    archs = load_archs()
    targets = parse_targets(asked.target, env={}, archs=archs, native=native_target)
    target = targets[0]
    if len(targets) != 1 or target.gfx not in executed_archs():
        message = (
            f"target takes one of {', '.join(executed_archs())}, with its CU count or without; got '{asked.target}'"
        )
        raise InputError([Diagnostic("E004", message, asked.location)])
    code = read_file(file)
    found = next((one for one in code.kernels if one.name == kernel), None)
    if found is None:
        known = ", ".join(one.name for one in code.kernels) or "none"
        raise UsageError(f"{file} has no kernel '{kernel}' (known: {known})")
    job = _Job(
        *pinned_chip(target.gfx, target.cu_num),
        code.source.data,
        kernel,
        asked,
        _places(asked, found),
        options,
    )
    step("preparing the emulator")
    core_library()
    step("emulating")
    began = time.perf_counter()
    run, arrays = call_apart(_launch, job)
    seconds = time.perf_counter() - began
    checked: list[Checked] = []
    for one in asked.arguments:
        if not isinstance(one.value, Array):
            continue
        if outputs is not None and one.value.output:
            outputs.mkdir(parents=True, exist_ok=True)
            np.save(outputs / f"{one.name}.npy", arrays[one.name])
        if one.value.expected is not None:
            checked.append(_check(one.name, one.value, arrays[one.name]))
    return KernelResult(kernel, str(target), run, seconds, tuple(checked))


@dataclass(frozen=True, slots=True)
class _Job:
    chip: Chip
    table: str
    code: bytes
    kernel: str
    asked: Arguments
    places: tuple[tuple[int, int], ...]
    options: Options


def _launch(job: _Job) -> tuple[Run, dict[str, NDArray[Any]]]:
    """The run, and what its arrays hold in the end."""
    emulator = Emulator(job.chip, job.table)
    arrays = {one.name: one.value.values.copy() for one in job.asked.arguments if isinstance(one.value, Array)}
    end = max((place + size for place, size in job.places), default=0)
    segment = bytearray(-(-end // _GRANULE) * _GRANULE)
    for one, (place, size) in zip(job.asked.arguments, job.places, strict=True):
        if isinstance(one.value, Array):
            address = emulator.add(arrays[one.name], written=one.value.written)
            segment[place : place + size] = address.to_bytes(size, "little")
        else:
            segment[place : place + size] = one.value.data
    module = emulator.load(job.code)
    asked = job.asked
    run = emulator.launch(module, job.kernel, asked.grid, asked.block, bytes(segment), job.options, asked.dynamic_lds)
    return run, arrays


def _places(asked: Arguments, kernel: Kernel) -> tuple[tuple[int, int], ...]:
    """Offset and size of every argument: its own, else the code object's, else as C would lay them out."""
    explicit = [one for one in kernel.arguments if not one.kind.startswith("hidden_")]
    errors: list[Diagnostic] = []
    found: list[tuple[int, int, Argument]] = []
    inorder = [one for one in asked.arguments if one.offset is None]
    if inorder and explicit and len(inorder) != len(explicit):
        message = f"{len(inorder)} arguments in order, the kernel takes {len(explicit)}"
        errors.append(Diagnostic("E005", message, asked.location))
    end = 0
    for one in asked.arguments:
        size = len(one.value.data) if isinstance(one.value, Scalar) else _POINTER
        place = -(-end // size) * size if one.offset is None else one.offset
        if one.offset is None and explicit and not errors:
            own = explicit[inorder.index(one)]
            place = own.offset
            if own.size != size:
                message = f"'{one.name}' has {size} bytes, the kernel's argument {own.size} ({own.kind})"
                errors.append(Diagnostic("E005", message, one.location))
        found.append((place, size, one))
        end = place + size
    ordered = sorted(found, key=lambda entry: entry[0])
    for (first, size, before), (second, _, after) in pairwise(ordered):
        if first + size > second:
            message = f"'{after.name}' at {second} overlaps '{before.name}'"
            errors.append(Diagnostic("E005", message, after.location, related=(before.location,)))
    if errors:
        raise InputError(errors)
    return tuple((place, size) for place, size, _ in found)


def _check(name: str, array: Array, found: NDArray[Any]) -> Checked:
    assert array.expected is not None
    actual, expected = found.astype(np.float64), array.expected.astype(np.float64)
    both = np.isnan(actual) & np.isnan(expected)
    with np.errstate(invalid="ignore"):
        error = np.where((actual == expected) | both, 0.0, np.abs(actual - expected))
    error = np.where(np.isnan(error), np.inf, error)
    wrong = error > array.tolerance if array.tolerance else (found != array.expected) & ~both
    return Checked(name, float(error.max(initial=0)), array.tolerance, int(wrong.sum()))
