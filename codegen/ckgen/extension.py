"""What another distribution brings to ckgen: found through its entry points, and only when it is called for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ckgen.model.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from ckgen.build.amd.model import AmdToolchain
    from ckgen.build.journal import CheckedRun, Journal
    from ckgen.build.named import NamedKernel
    from ckgen.fuzz.outcome import Sampled
    from ckgen.model.arch import ArchSpec
    from ckgen.progress import Progress
    from ckgen.runtime.source import LibrarySource

COMMANDS = "ckgen.commands"
"""Group of commands of click."""
AMD_CHECK = "ckgen.amd_check"
"""Group of what `ckgen amd-check` can do besides: `execute`, an `Execute`."""
FUZZ = "ckgen.fuzz"
"""Group of what `ckgen fuzz` can do besides: `emulate`, an `Emulate`."""

OPERATIONS = "ckgen.operations"
"""Group of where operations with tensors run besides: `emulate`, an `EmulateOperations`."""


class EmulatedOperations(Protocol):
    """Operations of ckgen.Library, by its names and arguments. `launches`: of the last call, a mapping for each."""

    launches: tuple[Mapping[str, Any], ...]

    def gemm(self, *operands: Any, **said: Any) -> Any: ...
    def grouped(self, *operands: Any, **said: Any) -> Any: ...
    def moe(self, *operands: Any, **said: Any) -> Any: ...
    def attention(self, *operands: Any, **said: Any) -> Any: ...
    def attention_backward(self, *operands: Any, **said: Any) -> Any: ...


class EmulateOperations(Protocol):
    """The operations of that library on a target; `checked`, `seed` and `threads` as ckgen.Library.emulated."""

    def __call__(
        self, source: LibrarySource, target: str, checked: bool, seed: int, threads: int
    ) -> EmulatedOperations: ...


class Execute(Protocol):
    """Runs one problem of each kernel that the journal has no result of, into it, on `jobs` processes (None: one per
    core). `say` hears of steps and of what fails to compile, `heard` of each run as it ends."""

    def __call__(
        self,
        kernels: Sequence[NamedKernel],
        toolchain: AmdToolchain,
        archs: Mapping[str, ArchSpec],
        journal: Journal,
        jobs: int | None,
        say: Callable[[str], None],
        heard: Callable[[CheckedRun], None],
        progress: Progress,
    ) -> None: ...


class Emulate(Protocol):
    """Runs `count` random problems of each op; `library` is the one that `ckgen fuzz` built. `progress` hears what is
    being done, `say` of what fails to compile."""

    def __call__(
        self,
        ops: frozenset[str],
        seed: int,
        count: int,
        library: Path,
        progress: Progress,
        say: Callable[[str], None],
    ) -> Mapping[str, Sampled]: ...


def extension(group: str, name: str, asked: str) -> Any:
    """The object of that entry point, imported now; UsageError where no distribution that is installed has it.

    `asked`: what the user asked for, as it is typed.
    """
    from importlib.metadata import entry_points

    for one in entry_points(group=group, name=name):
        return one.load()
    how = "`pip install ./emulator` in a checkout of ckgen"
    raise UsageError(f"{asked} needs the distribution ckgen-emulator, which is not installed: {how}")
