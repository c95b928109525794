"""What builds ask of a vendor's toolchain."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Protocol

from ckgen.build.inspect.report import KernelReport
from ckgen.build.job import Root
from ckgen.model.arch import Vendor

Steps = tuple[tuple[str, ...], ...]


class Toolchain(Protocol):
    """Argument vectors and ids; paths are absolute. Optimisation, standard and warnings are the caller's flags."""

    @property
    def vendor(self) -> Vendor:
        """Whose GPUs it compiles for."""
        ...

    @property
    def flag_kind(self) -> str:
        """Which of its kinds it is, in flags.json."""
        ...

    @property
    def root(self) -> Path:
        """Where its compiler lies."""
        ...

    @property
    def prefix(self) -> Path:
        """Where it was prepared."""
        ...

    @property
    def own(self) -> tuple[Path, ...]:
        """ckgen's folders of headers that it searches itself."""
        ...

    @property
    def compiler_version(self) -> str:
        """As people say it."""
        ...

    @property
    def compiler_id(self) -> str:
        """A digest of the compiler."""
        ...

    @property
    def identity_parts(self) -> tuple[str, ...]:
        """Digests of all that decides what a compile writes, but for the flags and the source."""
        ...

    @property
    def fixed(self) -> tuple[Root, ...]:
        """Folders whose headers those digests cover."""
        ...

    @property
    def launched(self) -> tuple[str, ...]:
        """The words that begin compiles which a compiler launcher may take over; none: it takes none."""
        ...

    @property
    def device_source(self) -> str:
        """What the source of a device unit is called."""
        ...

    @property
    def host_source(self) -> str:
        """What the source of a host unit is called."""
        ...

    @property
    def code_suffix(self) -> str:
        """Of files that hold code for a GPU."""
        ...

    def device_steps(self, processor: str, options: tuple[str, ...]) -> Steps:
        """Commands that make ASSEMBLY and CODE_OBJECT of a device unit."""
        ...

    def host_steps(self, options: tuple[str, ...], mark: str, *, plain: bool) -> Steps:
        """Commands that make OBJECT of a host unit; no two units have the same `mark`.

        A `plain` one is C++ without the headers of a kernel library or of the vendor's language.
        """
        ...

    def assemble_host(self) -> tuple[str, ...]:
        """Assembles for the host: add `-o` and the source."""
        ...

    def archiver(self) -> tuple[str, ...]:
        """An `ar`."""
        ...

    def reports(self, name: str, code: bytes, assembly: Path) -> tuple[KernelReport, ...]:
        """What is in a code object; InputError for what is none. `assembly` is what `device_steps` left of it."""
        ...


def digest_of_parts(*parts: str) -> str:
    """One sha256 of several texts, in their order."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
