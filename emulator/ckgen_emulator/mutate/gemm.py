"""A compiled GEMM kernel as a subject: the dispatcher launches a mutant as it launches the kernel."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ckgen.build.packed_code import pack_code, unpack_code
from ckgen.families.common.comparison import Expected
from ckgen.families.common.storage import decode, encode
from ckgen.families.gemm.reference import Operands, scaled_operands
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.errors import UsageError
from ckgen.model.target import Target
from ckgen_emulator.bindings import Chip
from ckgen_emulator.chip import chip_of
from ckgen_emulator.choose import Place, choose_kernel
from ckgen_emulator.core_library import core_library
from ckgen_emulator.gemm.build import BuildContext, build_kernels
from ckgen_emulator.gemm.call import Call, GemmCall, call_of
from ckgen_emulator.gemm.job import Job
from ckgen_emulator.gemm.kernel import DEVICE_LIBRARY, LIBRARY, units_of
from ckgen_emulator.gemm.problem import GemmProblem, expected_of, operands_of
from ckgen_emulator.gemm.runtime import Runtime
from ckgen_emulator.gemm.worker import Session
from ckgen_emulator.isa import isa_text
from ckgen_emulator.mutate.subject import Seen

_EXACT_IN_F32 = 2.0**24
_LARGEST_SCALE = 4  # of A and B together


class _CodeObject(ctypes.Structure):
    """ckgen::CodeObject."""

    _fields_ = [
        ("arch", ctypes.c_uint8), ("bytes", ctypes.c_void_p), ("size", ctypes.c_size_t), ("unpacked", ctypes.c_size_t),
    ]  # fmt: skip


class _DeviceCode(ctypes.Structure):
    """ckgen::DeviceCode."""

    _fields_ = [
        ("id", ctypes.c_uint64), ("prepare", ctypes.c_void_p), ("objects", ctypes.POINTER(_CodeObject)),
        ("count", ctypes.c_uint32), ("workspace", ctypes.c_void_p),
    ]  # fmt: skip


class _DeviceLibrary(ctypes.Structure):
    """ckgen::DeviceLibrary."""

    _fields_ = [
        ("name", ctypes.c_char_p), ("abi", ctypes.c_uint32), ("codes", ctypes.POINTER(ctypes.POINTER(_DeviceCode))),
        ("count", ctypes.c_uint32),
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class GemmChoice:
    """A kernel by its name, a target such as gfx942:304, and its problems.

    Problems of `rounded` have whole numbers up to `largest` as operands, whose products and sums are exact until the
    result is rounded: then the result is the value nearest to the sum, the even one of two.
    """

    kernel: str
    target: Target
    problems: tuple[GemmProblem, ...]
    rounded: tuple[GemmProblem, ...] = ()
    largest: int = 4


class GemmSubject:
    """The kernel, compiled where it was not. One per process: kernels' libraries have the same symbols."""

    def __init__(
        self, choice: GemmChoice, tuning: tuple[Path, ...], folder: Path, context: BuildContext, runtime: Runtime
    ) -> None:
        if context.toolchain.decoder is None:
            raise UsageError("a ROCm has no instruction tables: `ckgen toolchain amd` prepares them")
        arch, problems = choice.target.gfx, (*choice.problems, *choice.rounded)
        kernel = choose_kernel(choice.kernel, choice.target, Place(tuning), context.archs, context.cache.folder)
        (built,) = build_kernels([units_of(kernel, [one.use for one in problems])], context)
        if built.library is None:
            raise UsageError(built.failure_text)
        self.name = kernel.instance.name
        self.chip: Chip = chip_of(context.archs[arch], choice.target.cu_num)
        self.table = isa_text(context.toolchain.decoder, arch)
        self.problems = len(problems)
        (folder / "isa").write_text(self.table, encoding="utf-8")
        os.environ |= {
            "CKGEN_HIP_LIBRARY": str(runtime.hip),
            "CKGEN_EMULATOR": str(core_library()),
            "CKGEN_EMULATOR_TABLE": str(folder / "isa"),
            "CKGEN_EMULATOR_TARGET": str(choice.target),
        }
        work = Job(
            dispatcher=str(runtime.dispatcher), hip=str(runtime.hip), kernel=str(built.library), library=LIBRARY,
            device_library=DEVICE_LIBRARY, instance=self.name, signature=kernel.instance.signature.canonical(),
            target=str(choice.target), report=str(folder / "report"), answers="", problems=problems,
        )  # fmt: skip
        self._work, self._folder = work, folder
        self._session = Session(work)
        signature = self._session.signature
        self._data: list[tuple[GemmProblem, Call]] = [(one, call_of(signature, one)) for one in choice.problems]
        self._data += [(one, GemmCall(one, *_rounded(signature, one, choice.largest))) for one in choice.rounded]
        self._object = _only_object(built.library)
        packed = ctypes.string_at(self._object.bytes, self._object.size)
        self.code = unpack_code(packed)

    def run(
        self, code: bytes, problems: Iterable[int], seed: int, most_instructions: int, trace: str = ""
    ) -> Iterator[Seen]:
        """As Subject says: the HIP runtime reads its settings once."""
        report = self._begin(code, seed, most_instructions, trace)
        for problem in problems:
            trouble: list[str] = []
            result, launches = self._session.on_gpu(*self._data[problem], trouble)
            findings = [finding for launch in launches for finding in launch["findings"]]
            yield Seen(
                tuple(one["rule"] for one in findings),
                tuple(one["address"] for one in findings),
                result is not None and not result.ok,
                "; ".join(trouble),
                sum(launch["instructions"] for launch in launches),
            )
        report.unlink(missing_ok=True)

    def origin(self, code: bytes, problem: int, most_instructions: int) -> Mapping[str, Any] | None:
        """What wrote the first element that this code gets wrong, as core/c_api.h says; None where it is right.

        Once per process, as `run`.
        """
        self._begin(code, 0, most_instructions, "")
        trouble: list[str] = []
        result, _ = self._session.on_gpu(*self._data[problem], trouble)
        found = self._session.origin(*self._data[problem], result, trouble) if result is not None else None
        assert not trouble, trouble
        return found

    def _begin(self, code: bytes, seed: int, most_instructions: int, trace: str) -> Path:
        """Puts the code in; gives the file of the HIP runtime's reports."""
        self._substitute(code)
        report = self._folder / f"report-{os.getpid()}"
        chosen = f"checked=1,seed={seed},threads=1,most_instructions={most_instructions},most_findings=20"
        os.environ |= {"CKGEN_EMULATOR_OPTIONS": chosen, "CKGEN_EMULATOR_REPORT": str(report)}
        os.environ["CKGEN_EMULATOR_TRACE"] = trace
        self._session.work = replace(self._work, report=str(report))
        return report

    def _substitute(self, code: bytes) -> None:
        """Puts code into the loaded library, whose constants may be in pages that are not writable."""
        packed = pack_code(code, 1)
        self._kept = ctypes.create_string_buffer(packed, len(packed))
        page = mmap.PAGESIZE
        first = ctypes.addressof(self._object) & -page
        end = ctypes.addressof(self._object) + ctypes.sizeof(self._object)
        libc = ctypes.CDLL(None, use_errno=True)
        writable = mmap.PROT_READ | mmap.PROT_WRITE
        if libc.mprotect(ctypes.c_void_p(first), ctypes.c_size_t(end - first), writable):
            raise OSError(ctypes.get_errno(), "mprotect")
        self._object.bytes, self._object.size = ctypes.addressof(self._kept), len(packed)
        self._object.unpacked = len(code)


def _rounded(signature: GemmSignature, problem: GemmProblem, largest: int) -> tuple[Operands, Expected]:
    """Operands and the one right result; of two K splits each is rounded, then their sum."""
    random = np.random.default_rng(problem.seed)
    like = operands_of(signature, problem)
    a, b = (random.integers(-largest, largest + 1, of.shape).astype(np.float64) for of in (like.a, like.b))
    operands = replace(like, a=a, b=b)
    if float((np.abs(a) @ np.abs(b)).max()) * _LARGEST_SCALE >= _EXACT_IN_F32:
        raise ValueError(f"{problem}: sums are not exact")
    scaled_a, scaled_b = scaled_operands(operands)
    depth = problem.shape.k // problem.k_batch
    c = np.zeros_like(expected_of(operands, problem).c)
    for first in range(0, problem.shape.k, depth):
        part = scaled_a[..., first : first + depth] @ scaled_b[..., first : first + depth, :]
        c = decode(encode(c + decode(encode(part, signature.c)), signature.c))
    return operands, Expected(c, np.zeros_like(c))


def _only_object(library: Path) -> _CodeObject:
    """The code object in a kernel's library."""
    entry = getattr(ctypes.CDLL(str(library)), f"ckgen_{DEVICE_LIBRARY}_device_library")
    entry.restype = ctypes.POINTER(_DeviceLibrary)
    device = entry().contents
    code = device.codes[0].contents
    if (device.count, code.count) != (1, 1):
        raise ValueError(f"{library} holds more than one code object")
    found: _CodeObject = code.objects[0]
    return found
