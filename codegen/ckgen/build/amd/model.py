"""A prepared AMD toolchain: how to compile, assemble and link for an arch, and what identifies the result."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ckgen.build.amd.clang import HOST
from ckgen.build.inspect import code_object
from ckgen.build.inspect.report import KernelReport, reports_of
from ckgen.build.job import Root
from ckgen.build.toolchain import Steps, digest_of_parts
from ckgen.build.unit_files import ASSEMBLY, CODE_OBJECT, DEPENDENCIES, OBJECT
from ckgen.model.arch import Vendor

_LIST_HEADERS = tuple(
    word
    for argument in ("-dependency-file", DEPENDENCIES, "-sys-header-deps", "-MT", OBJECT)
    for word in ("-Xclang", argument)
)
"""As -MD, which the driver passes to host compiles only."""


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
    """See Toolchain.

    `compiler` and `linker` begin every command; `hip` holds the arguments that make the compiler speak HIP, and `cpp`
    those for C++ of the host without HIP's headers, which take most of the time that a small unit takes. `own` are
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
    cpp: tuple[str, ...]
    own: tuple[Path, ...]
    ck: CkTree
    decoder: Path | None
    compiler_version: str
    compiler_id: str
    headers_id: str
    libstdcxx: str | None

    vendor = Vendor.AMD
    device_source = host_source = "unit.hip"
    code_suffix = ".hsaco"

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
    def flag_kind(self) -> str:
        """`pinned` or `rocm`."""
        return self.kind.value

    @property
    def launched(self) -> tuple[str, ...]:
        """clang."""
        return self.compiler

    @property
    def identity_parts(self) -> tuple[str, ...]:
        """Of the compiler, the CK tree and the C++ library."""
        return (self.compiler_id, self.ck.id, self.libstdcxx or "")

    @property
    def fixed(self) -> tuple[Root, ...]:
        """The CK tree, and the prefix."""
        tree = (Root(f"ck{number}", path) for number, path in enumerate(self.ck.includes))
        return (*tree, Root("prefix", self.prefix))

    def device_steps(self, processor: str, options: tuple[str, ...]) -> Steps:
        """Assembly from one compile, and the code object that is made from it."""
        return (
            (*self.device(processor), *options, *_LIST_HEADERS, "-S", "-o", ASSEMBLY, self.device_source),
            (*self.assemble(processor), "-o", OBJECT, ASSEMBLY),
            (*self.link(), "-o", CODE_OBJECT, OBJECT),
        )

    def host_steps(self, options: tuple[str, ...], mark: str, *, plain: bool) -> Steps:
        """By clang, which names a symbol by `mark`: by default the same one in every unit of the same file name."""
        words = (*self.compiler, *self.cpp, *self._includes()) if plain else (*self.host(), f"-cuid={mark}")
        return ((*words, *options, *_LIST_HEADERS, "-c", "-o", OBJECT, self.host_source),)

    def assemble_host(self) -> tuple[str, ...]:
        """By clang."""
        return (*self.compiler, HOST, "-x", "assembler", "-c")

    def archiver(self) -> tuple[str, ...]:
        """LLVM's ar: part of the pinned compiler's program, beside the linker in a ROCm."""
        if self.kind is Kind.PINNED:
            return (self.linker[0], "ar")
        return (str(Path(self.linker[0]).with_name("llvm-ar")),)

    def reports(self, name: str, code: bytes, assembly: Path) -> tuple[KernelReport, ...]:
        """A report per kernel of a code object, by name."""
        return reports_of(code_object.read_code_object(code_object.Source(name, code)), self.decoder)

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
