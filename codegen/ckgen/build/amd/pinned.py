"""The toolchain of the pinned wheels: from their unpacked packages to argument vectors."""

from __future__ import annotations

from pathlib import Path

from ckgen.build.amd.clang import HOST, ask
from ckgen.build.amd.model import AmdToolchain, CkTree, Kind
from ckgen.build.amd.pins import Role, pins
from ckgen.build.amd.trees import ck_tree_of, folder_id, hip_headers
from ckgen.build.packages.errors import toolchain_error
from ckgen.build.packages.pin import Pin
from ckgen.build.packages.unpack import Package, unpacked
from ckgen.build.toolchain import digest_of_parts

_PROGRAM = "ziglang/zig"
_RESOURCES = "clang_tidy/data/lib/clang/22"


def pinned_toolchain(prefix: Path) -> AmdToolchain:
    """Looks at stamps only, so that it is quick; InputError X001 for a package that is not there."""
    compiler_package, resources = _package(Role.COMPILER, prefix), _package(Role.RESOURCES, prefix)
    program = str(compiler_package.folder / _PROGRAM)
    compiler = (program, "clang", "--driver-mode=g++")
    resource_folder = resources.folder / _RESOURCES
    wrapper = resource_folder / "include" / "__clang_hip_runtime_wrapper.h"
    facts = ask(compiler)
    digests = (compiler_package.digests[_PROGRAM], resources.tree_id(f"{_RESOURCES}/include"))
    host = (HOST, "-resource-dir", str(resource_folder))
    return AmdToolchain(
        kind=Kind.PINNED,
        root=prefix,
        prefix=prefix,
        compiler=compiler,
        linker=(program, "ld.lld"),
        hip=(
            *(*host, "-x", "hip", "-nogpuinc", "-nogpulib", "-fdeclspec"),
            *("-include", str(wrapper), "-isystem", str(resource_folder / "include" / "cuda_wrappers")),
        ),
        cpp=(*host, "-x", "c++"),
        own=(hip_headers(),),
        ck=pinned_tree(prefix),
        decoder=_package(Role.DECODER, prefix).folder,
        compiler_version=facts.version,
        compiler_id=digest_of_parts(facts.version, *digests),
        headers_id=folder_id(hip_headers()),
        libstdcxx=facts.libstdcxx,
    )


def pinned_tree(prefix: Path) -> CkTree:
    """The CK tree of the AITER wheel, with AITER's instance tables."""
    return ck_tree_of(_package(Role.CK, prefix), "aiter_meta/3rdparty/composable_kernel", "aiter_meta/csrc")


def older_tree(prefix: Path) -> CkTree:
    """The CK tree of mid-2025; X001 unless it was asked for."""
    package = _package(Role.OLDER_CK, prefix, "ckgen toolchain amd --also older-ck")
    return ck_tree_of(package, "csrc/composable_kernel", None)


def _package(role: Role, prefix: Path, command: str = "ckgen toolchain amd") -> Package:
    pin: Pin = pins()[role]
    package = unpacked(pin, prefix)
    if package is None:
        what = f"{pin.name} {pin.version} is not unpacked there"
        raise toolchain_error("X001", what, prefix / pin.folder, hint=f"run `{command}`")
    return package
