"""A prepared NVIDIA toolchain: how to compile for an arch and for the host, and what identifies the result."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ckgen import paths
from ckgen.build.inspect.cubin import read_cubin
from ckgen.build.inspect.elf import Source
from ckgen.build.inspect.report import KernelReport
from ckgen.build.inspect.sass import count_instructions, report_of
from ckgen.build.job import Root
from ckgen.build.toolchain import Steps
from ckgen.build.unit_files import ASSEMBLY, CODE_OBJECT, DEPENDENCIES, OBJECT
from ckgen.model.arch import Vendor

_DISASSEMBLE = "build/nvidia/disassemble.py"


class Kind(Enum):
    """PINNED: the wheels of pins.json. CUDA: one that was installed by other means, with CUTLASS of the wheels."""

    PINNED = "pinned"
    CUDA = "cuda"


@dataclass(frozen=True, slots=True)
class NvidiaToolchain:
    """See Toolchain. `cuda` is a tree with bin, include and nvvm; `cutlass` its headers' folder and `cutlass_id` their
    digest; `host_compiler` a g++, which compiles host units and runs the preprocessor for nvcc."""

    kind: Kind
    prefix: Path
    cuda: Path
    cutlass: Path
    cutlass_id: str
    nvdisasm: Path
    host_compiler: str
    compiler_version: str
    compiler_id: str

    vendor = Vendor.NVIDIA
    own: tuple[Path, ...] = ()
    launched: tuple[str, ...] = ()
    device_source = "unit.cu"
    host_source = "unit.cpp"
    code_suffix = ".cubin"

    @property
    def root(self) -> Path:
        """Where CUDA lies."""
        return self.cuda

    @property
    def flag_kind(self) -> str:
        """`pinned` or `cuda`."""
        return self.kind.value

    @property
    def identity_parts(self) -> tuple[str, ...]:
        """Of compilers and CUTLASS."""
        return (self.compiler_id, self.cutlass_id)

    @property
    def fixed(self) -> tuple[Root, ...]:
        """The headers of CUTLASS and CUDA."""
        return (Root("cutlass", self.cutlass), Root("cuda", self.cuda), Root("prefix", self.prefix))

    def device_steps(self, processor: str, options: tuple[str, ...]) -> Steps:
        """A cubin for one processor, and its text."""
        virtual = processor.replace("sm_", "compute_")
        compile_: tuple[str, ...] = (str(self.cuda / "bin" / "nvcc"), "-cubin", "-ccbin", self.host_compiler)
        compile_ += ("-gencode", f"arch={virtual},code={processor}", *options, "-isystem", str(self.cutlass))
        read = (
            sys.executable,
            "-I",
            str(paths.package_dir() / _DISASSEMBLE),
            str(self.nvdisasm),
            CODE_OBJECT,
            ASSEMBLY,
        )
        return ((*compile_, *_LIST_HEADERS, "-o", CODE_OBJECT, self.device_source), read)

    def host_steps(self, options: tuple[str, ...], mark: str, *, plain: bool) -> Steps:
        """By g++ alone: CUTLASS's host code, without CUDA's runtime."""
        include = self.cuda / "include"
        system = (word for folder in (include, include / "cccl", self.cutlass) for word in ("-isystem", str(folder)))
        return ((self.host_compiler, *options, *system, *_LIST_HEADERS, "-c", "-o", OBJECT, self.host_source),)

    def assemble_host(self) -> tuple[str, ...]:
        """GNU's assembler through g++."""
        return (self.host_compiler, "-x", "assembler", "-c")

    def archiver(self) -> tuple[str, ...]:
        """The machine's."""
        return ("ar",)

    def reports(self, name: str, code: bytes, assembly: Path) -> tuple[KernelReport, ...]:
        """A report per kernel of a cubin, by name."""
        cubin = read_cubin(Source(name, code))
        counts = count_instructions(assembly.read_text(encoding="utf-8"))
        return tuple(report_of(cubin, kernel, counts.get(kernel.name, {})) for kernel in cubin.kernels)


_LIST_HEADERS = ("-MD", "-MF", DEPENDENCIES, "-MT", OBJECT)
