"""`ckgen.jit`: a library of the operations and targets that are asked for."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ckgen import paths
from ckgen.build.packages.place import cache_room
from ckgen.build.runtime_library import RuntimeProject, build_runtime
from ckgen.families.kernel_sets import OPS, SHIPPED, kernel_set_files
from ckgen.families.registry import names_of
from ckgen.just_in_time.content import content_of
from ckgen.just_in_time.errors import JitDisabled, JitFailure
from ckgen.just_in_time.planned import planned
from ckgen.model.errors import InputError, UsageError
from ckgen.model.target import Target
from ckgen.plan.options import PlanOptions
from ckgen.runtime import Library
from ckgen.specs import load_archs
from ckgen.specs.native import native_device, native_target
from ckgen.specs.targets import parse_targets

DISABLE = "CKGEN_DISABLE_JIT"
NAME = "ckgen_jit"
_LOG = "log.txt"
_BESIDE = SHIPPED[1:]
"""Sets beside the default one."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a library holds, as ckgen_generate() takes it."""

    ops: tuple[str, ...]
    targets: tuple[Target, ...]
    signatures: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    tuning: tuple[Path, ...] = ()
    kernel_sets: tuple[Path, ...] = ()
    device_code: bool = False

    @property
    def key(self) -> str:
        """The same for the same library: a hash of all that its bytes depend on."""
        lists = (self.ops, map(str, self.targets), self.signatures, self.kernels, (str(self.device_code),))
        counted = (str(len(self.tuning)), str(len(self.kernel_sets)))
        words = ("\n".join(one) for one in (*lists, counted))
        return content_of(words, (*self.tuning, *self.kernel_sets))

    def options(self) -> PlanOptions:
        """What the generator is asked for."""
        return PlanOptions(
            targets=self.targets,
            ops=frozenset(self.ops or OPS),
            tuning=self.tuning or paths.shipped_tables(),
            kernel_sets=self.kernel_sets,
            signatures=self.signatures,
            kernels=self.kernels,
        )

    def ahead_of_time(self) -> str:
        """The lines of CMake that build it without jit."""
        named = (
            ("TARGETS", self.targets),
            ("OPS", self.ops),
            ("SIGNATURES", self.signatures),
            ("KERNELS", self.kernels),
            ("TUNING", self.tuning),
            ("KERNEL_SETS", self.kernel_sets),
        )
        lists = "".join(f"\n    {word} {' '.join(map(str, values))}" for word, values in named if values)
        return f"  ckgen_generate(my_kernels{lists}{chr(10) + '    DEVICE_CODE' if self.device_code else ''})"


def jit(
    ops: Iterable[str] = (),
    targets: Iterable[str | Target] | str | None = None,
    *,
    signatures: Iterable[str] = (),
    kernels: Iterable[str] = (),
    tuning: Iterable[Path | str] = (),
    kernel_sets: Iterable[Path | str] = (),
    device: str | None = None,
    device_code: bool = False,
    say: Callable[[str], None] | None = None,
) -> Library:
    """Loads the library of these operations, and builds it first where that was not done before.

    ops: as `--ops` takes them, by default all. targets: such as "gfx942:304" or "native", by default this machine's own
    GPU or CPU. signatures: names or patterns, in place of all. kernels: likewise of instances, as ckgen.kernels lists
    them; of GPU code, several are compiled at once, and each once for all libraries of this machine. tuning: CSVs or
    folders in place of the shipped tables. kernel_sets: files, or shipped sets by their names, beside the default one;
    left out where kernels are named, all shipped ones. device: as `Library.load` takes it; where it is left out, the
    first target, simulated if it is no GPU of this machine. device_code: GPU code too. say: hears each step of a build,
    which otherwise goes to stderr.

    Built libraries lie in ckgen's cache folder, one for each content of sources, tables, compiler and request; several
    processes build one once. Where CKGEN_DISABLE_JIT is set, only what is built already is loaded.

    UsageError for operations, targets and files that nobody knows, and for signatures and kernels that fit nothing;
    InputError for tables that are wrong; JitDisabled says what to build ahead of time; JitFailure has the last words of
    the generator or the compiler, and the file with all of them.
    """
    request = _request(ops, targets, signatures, kernels, tuning, kernel_sets, device_code)
    path = _found(request) or _built(request, say or _to_stderr)
    names = [f"{NAME}_device"] if device_code else []
    return Library.load(path, [NAME], device if device is not None else _device_of(request), device_names=names)


def _request(
    ops: Iterable[str],
    targets: Iterable[str | Target] | str | None,
    signatures: Iterable[str],
    kernels: Iterable[str],
    tuning: Iterable[Path | str],
    kernel_sets: Iterable[Path | str],
    device_code: bool,
) -> Request:
    if any(isinstance(one, str) for one in (ops, signatures, kernels)):
        raise UsageError("ops, signatures and kernels are lists of words, such as ops=['gemm']")
    said = targets if isinstance(targets, str) or targets is None else ",".join(map(str, targets))
    found = parse_targets(said or "native", env={}, archs=load_archs(), native=native_target)
    ops, kernels = tuple(ops), tuple(kernels)
    families = names_of(ops) if ops else ()
    searched = tuple(kernel_sets) or (_BESIDE if kernels else ())
    asked = [file for one in searched for file in kernel_set_files(Path(one), families or OPS)]
    tables, sets = (tuple(Path(one).resolve() for one in given) for given in (tuning, asked))
    for one in (*tables, *sets):
        if not one.exists():
            raise UsageError(f"no such file or folder: {one}")
    names = (tuple(sorted(set(signatures))), tuple(sorted(set(kernels))))
    return Request(families, found, *names, tables, sets, device_code)


def _device_of(request: Request) -> str | None:
    """Of `Library.load`: None is this machine's GPU, which its target's name would only simulate."""
    own = native_device()
    if not {own, own.any_sku} & {*request.targets}:
        return str(request.targets[0])
    return "cpu" if own.gfx.startswith("x86") else None


def _project(request: Request) -> RuntimeProject:
    return RuntimeProject(
        NAME,
        cache_room("jit") / request.key,
        request.targets,
        request.signatures,
        request.ops,
        request.tuning,
        request.kernel_sets,
        request.device_code,
        request.kernels,
    )


def _found(request: Request) -> Path | None:
    """A library that was built whole."""
    library = _kept(request)
    return library if library.is_file() else None


def _kept(request: Request) -> Path:
    return cache_room("jit") / request.key / f"lib{NAME}.so"


def _built(request: Request, say: Callable[[str], None]) -> Path:
    if os.environ.get(DISABLE, "") not in ("", "0"):
        raise JitDisabled(
            f"{DISABLE} is set, and this library is not built. Add it ahead of time, with CMake as\n"
            f"{request.ahead_of_time()}\nand ckgen.load(…), or run the same ckgen.jit(…) once without {DISABLE}"
        )
    project = _project(request)
    log = project.folder / _LOG
    with _locked(project.folder):
        if (found := _found(request)) is not None:  # by another process, meanwhile
            return found
        planned(request.options())  # the build plans too, but what is wrong with the request is told here, by name
        try:
            made = build_runtime(project, say, log)
        except InputError as error:
            raise JitFailure(f"{error}\nthe whole of it: {log}") from error
        unfinished = project.folder / f"lib{NAME}.so.part"
        shutil.copy2(made, unfinished)
        unfinished.replace(_kept(request))
        shutil.rmtree(project.folder / "build")
    return _kept(request)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One process at a time; the kernel gives the lock back with the process that holds it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _to_stderr(text: str) -> None:
    print(f"ckgen.jit: {text}", file=sys.stderr)
