"""A prepared AMD toolchain: how to compile, assemble and link for an arch, and what identifies the result."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class Kind(Enum):
    """PINNED: the wheels of pins.json. ROCM: a ROCm that was installed by other means."""

    PINNED = "pinned"
    ROCM = "rocm"


@dataclass(frozen=True, slots=True)
class CkTree:
    """A tree of CK headers: folders to search, and a digest of ck/ and ck_tile/, which lie in the first.

    `instance_tables` is AITER's csrc folder, where the tree came with one.
    """

    includes: tuple[Path, ...]
    id: str
    instance_tables: Path | None = None


@dataclass(frozen=True, slots=True)
class AmdToolchain:
    """Argument vectors and ids; all paths absolute. Optimisation, standard, warnings and traits are the caller's flags.

    `compiler` and `linker` begin every command; `hip` holds the arguments that make the compiler speak HIP. `own` are
    ckgen's folders of HIP headers, searched before the CK tree; none with a ROCm, which has its own. `decoder` is a
    folder for sys.path that holds tinygrad, of the pinned packages only. `compiler_id` and `headers_id` are digests of
    the compiler with its resource headers, and of the HIP headers; `libstdcxx` is the GCC installation whose C++
    headers are taken.
    """

    kind: Kind
    root: Path
    prefix: Path
    compiler: tuple[str, ...]
    linker: tuple[str, ...]
    hip: tuple[str, ...]
    own: tuple[Path, ...]
    ck: CkTree
    decoder: Path | None
    compiler_version: str
    compiler_id: str
    headers_id: str
    libstdcxx: str | None

    def device(self, arch: str) -> tuple[str, ...]:
        """Compiles a HIP unit for one arch only: add flags, `-S` or `-c`, `-o` and the source."""
        only = ("--cuda-device-only", "--no-gpu-bundle-output", f"--offload-arch={arch}")
        return (*self.compiler, *self.hip, *only, *self._includes())

    def host(self) -> tuple[str, ...]:
        """Compiles a HIP unit's host half only: add flags (`-fPIC`), `-c`, `-o` and the source."""
        return (*self.compiler, *self.hip, "--cuda-host-only", *self._includes())

    def assemble(self, arch: str) -> tuple[str, ...]:
        """Assembles what `device` wrote with `-S`: add `-o` and the source."""
        return (*self.compiler, "--target=amdgcn-amd-amdhsa", f"-mcpu={arch}", "-x", "assembler", "-c")

    def link(self) -> tuple[str, ...]:
        """Links assembled objects into a code object: add `-o` and the objects."""
        return (*self.linker, "-shared", "--no-undefined")

    @property
    def tree_id(self) -> str:
        """The digest of the CK tree's headers."""
        return self.ck.id

    @property
    def identity(self) -> str:
        """One digest of all that decides what a compile writes, but for the flags and the source."""
        return digest_of_parts(self.compiler_id, self.headers_id, self.tree_id, self.libstdcxx or "")

    def _includes(self) -> tuple[str, ...]:
        foreign = (part for path in self.ck.includes for part in ("-isystem", str(path)))
        return (*(f"-I{path}" for path in self.own), *foreign)


def digest_of_parts(*parts: str) -> str:
    """One sha256 of several texts, in their order."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
