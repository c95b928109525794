"""Host units of classic ck compiled into one shared object that answers for many problems at once."""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import json
import re
import shutil
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from amd_support import amd_toolchain, entries_of
from ckgen.build.compile import OBJECT, Unit, host_job
from ckgen.build.entry import Entry
from ckgen.emit.device import render_device_unit
from ckgen.families.common.device.unit import prepare_symbol
from ckgen.families.gemm import cpp as cpp_gemm
from ckgen.families.gemm.device.ck_host import host_unit
from ckgen.families.gemm.device.ck_variants import CkVariant, all_variants
from ckgen.families.gemm.grammar import identify
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import parse_signature
from ckgen.families.registry import make_instance
from ckgen.model.dtype import Fp8Flavour
from cpp_build import BUILD, run

Problems = NDArray[np.int32]
"""Rows of m, n, k, batch, k_batch."""

REFUSED, NOTHING, UNLISTED, UNKNOWN_PADDING, THREW = -1, -2, -3, -4, -5
"""Answers that are no index of a variant: IsSupportedArgument says no, the Invoker launches nothing, …"""

PROBE = (Path(__file__).with_name("probe.cpp.in")).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Kind:
    """An instance that stands for its kind: an entry of kinds.json."""

    label: str
    signature: str
    kernel: str
    arch: str
    splits: bool

    @cached_property
    def instance(self) -> Instance:
        module = self.signature.split(":")[0]
        found = identify(module, "ck", self.kernel)
        assert found is not None, self.kernel
        flavour = Fp8Flavour.FNUZ if self.arch == "gfx942" else Fp8Flavour.OCP
        signature = parse_signature(self.signature, flavour)
        return make_instance(signature, found.config, module=module, table_kernel=self.kernel, archs=(self.arch,))

    @cached_property
    def variants(self) -> tuple[CkVariant, ...]:
        return tuple(sorted(all_variants(self.instance)))


KINDS = tuple(
    Kind(**each) for each in json.loads(Path(__file__).with_name("kinds.json").read_text(encoding="utf-8"))["kinds"]
)


def unit_text(kind: Kind) -> str:
    """The host unit whose code object on the kind's arch holds all variants."""
    return render_device_unit(host_unit(kind.instance, {kind.arch: kind.variants}))


def probe_text() -> str:
    """The units of all kinds, whose headers are read once, with functions that ask one about many problems."""
    numbered = tuple(enumerate(KINDS))
    parts = {
        "units": (re.sub(r"\b(Config|Module|Unit)\b", rf"\g<1>{i}", unit_text(kind)) for i, kind in numbered),
        "constraints": (f"    ckgen::describe::{cpp_gemm.constraints(kind.instance.constraints)}," for kind in KINDS),
        "ask": (f"    case {i}: return ask<Unit{i}>(asked, count, arch, answers);" for i, _ in numbered),
        "signatures": (f"    case {i}: return ckgen::describe::{_signature(kind)};" for i, kind in numbered),
        "prepare": (f"    case {i}: return {symbol(kind)}(launch, arch, 304, call);" for i, kind in numbered),
    }
    text = PROBE
    for name, lines in parts.items():
        text = text.replace(f"@{name}@", "\n".join(lines))
    return text


def symbol(kind: Kind) -> str:
    """What the kind's host unit defines."""
    return prepare_symbol(kind.instance.id)


def _signature(kind: Kind) -> str:
    return "".join(cpp_gemm.signature_words(kind.instance.signature))


@cache
def compiled() -> Path:
    """All kinds in one object of the build's cache, and beside it a shared object that is linked from it."""
    (entry,) = entries_of(host_job(Unit("probe of classic ck", "ck", "", "", probe_text()), amd_toolchain()))
    return _linked(entry)


def _linked(entry: Entry) -> Path:
    unit = entry.output(OBJECT)
    digest = hashlib.sha256(unit.read_bytes()).hexdigest()[:16]
    folder = BUILD / "ck_host" / digest
    target = folder / "unit.so"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            shutil.copyfile(unit, target.with_suffix(".o"))
            run("g++", "-shared", "-o", f"{target}.new", unit)
            Path(f"{target}.new").replace(target)
    return target


class Asked(ctypes.Structure):
    """A launch: sizes in elements, made-up addresses."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("m", "n", "k", "batch", "lda", "ldb", "ldc")),
        *((name, ctypes.c_int64) for name in ("batch_stride_a", "batch_stride_b", "batch_stride_c")),
        *((name, ctypes.c_uint64) for name in ("a", "b", "c", "a_scale", "b_scale")),
        ("a_scale_row_major", ctypes.c_int32),
        ("k_batch", ctypes.c_uint32),
        ("mx_scale_shuffled", ctypes.c_int32),
    )


class Prepared(ctypes.Structure):
    """A KernelCall, what it cost, and the Status (`code` 0 is ok)."""

    _fields_ = (
        ("code", ctypes.c_int32),
        ("message", ctypes.c_char * 240),
        ("symbol", ctypes.c_char * 128),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("args_size", ctypes.c_uint32),
        ("allocations", ctypes.c_uint32),
        ("clear", ctypes.c_uint64 * 4),
        ("args", ctypes.c_uint8 * 1024),
    )


class HostUnit:
    """A kind's host unit among those that are compiled."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._number = KINDS.index(kind)
        self._library = ctypes.CDLL(str(compiled()))
        self._library.probe_prepare.restype = ctypes.c_int32

    @staticmethod
    @cache
    def of(kind: Kind) -> HostUnit:
        """The unit, once for all tests of a process."""
        return HostUnit(kind)

    def ask(self, problems: Problems, arch: str | None = None) -> NDArray[np.int32]:
        """Per problem the index of the variant that the op's own code launches, or one of the answers above."""
        answers = np.empty(len(problems), np.int32)
        name = (arch or self.kind.arch).encode()
        self._library.probe_ask(self._number, _address(problems), len(problems), name, _address(answers))
        return answers

    def prepare(self, asked: Asked, arch: str | None = None) -> Prepared:
        """What the unit's PrepareFn makes of a launch with these arguments."""
        prepared = Prepared()
        name = (arch or self.kind.arch).encode()
        prepared.code = self._library.probe_prepare(self._number, ctypes.byref(asked), name, ctypes.byref(prepared))
        return prepared

    def supported(self, problems: Problems) -> NDArray[np.int32]:
        """Per problem ckgen's own rule for it in C++: 0, or the number of the rule that it breaks."""
        answers = np.empty(len(problems), np.int32)
        self._library.probe_supports(self._number, _address(problems), len(problems), _address(answers))
        return answers


def _address(array: NDArray[np.int32]) -> ctypes.c_void_p:
    assert array.dtype == np.int32
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)
