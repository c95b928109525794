"""The toolchain of a ROCm that is there: its clang, its lld, its HIP headers."""

from __future__ import annotations

import shutil
from pathlib import Path

from ckgen.build.amd.clang import HOST, ClangFacts, ask
from ckgen.build.amd.model import AmdToolchain, CkTree, Kind
from ckgen.build.amd.pinned import pinned_tree
from ckgen.build.amd.trees import ck_tree_in, folder_id
from ckgen.build.packages.errors import toolchain_error
from ckgen.build.packages.fetch import digest_of
from ckgen.build.toolchain import digest_of_parts
from ckgen.model.errors import InputError

_COMPILERS = ("bin/amdclang++", "llvm/bin/amdclang++", "lib/llvm/bin/amdclang++", "llvm/bin/clang++")
_WRAPPER = "bin/hipcc"
_LINKERS = ("ld.lld", "lld")


def rocm_toolchain(root: Path, prefix: Path, ck: Path | None) -> AmdToolchain:
    """The ROCm in `root` over the CK tree in `ck`, else the ROCm's own, else the one prepared in `prefix`.

    InputError X005 without a compiler, a linker or HIP headers in `root`, X006 without a CK tree.
    """
    root = root.absolute()
    program, facts = _compiler(root)
    headers = root / "include" / "hip"
    if not (headers / "hip_runtime.h").is_file():
        raise toolchain_error("X005", "no HIP headers: include/hip/hip_runtime.h is missing", root)
    compiler = (str(program),)
    return AmdToolchain(
        kind=Kind.ROCM,
        root=root,
        prefix=prefix,
        compiler=compiler,
        linker=_linker(root, program, facts),
        hip=("-x", "hip", HOST, f"--rocm-path={root}"),
        cpp=("-x", "c++", HOST),
        own=(),
        ck=_tree(root, prefix, ck),
        decoder=None,
        compiler_version=facts.version,
        compiler_id=digest_of_parts(facts.version, digest_of(program.resolve())),
        headers_id=folder_id(headers),
        libstdcxx=facts.libstdcxx,
    )


def _compiler(root: Path) -> tuple[Path, ClangFacts]:
    """hipcc adds flags of its own, so it is only asked where its clang is."""
    for name in _COMPILERS:
        program = root / name
        if program.is_file():
            return program, ask((str(program),))
    wrapper = root / _WRAPPER
    if wrapper.is_file():
        installed = ask((str(wrapper),)).installed
        program = (installed or root) / "clang++"
        if installed is not None and program.is_file():
            return program, ask((str(program),))
    tried = ", ".join((*_COMPILERS, _WRAPPER))
    raise toolchain_error(
        "X005", f"no HIP compiler: none of {tried}", root, hint="give the root of a ROCm, as /opt/rocm"
    )


def _linker(root: Path, program: Path, facts: ClangFacts) -> tuple[str, ...]:
    folders = [facts.installed, program.resolve().parent, root / "llvm" / "bin", root / "lib" / "llvm" / "bin"]
    for folder in folders:
        for name in _LINKERS:
            if folder is not None and (found := shutil.which(name, path=str(folder))):
                return (found,) if name == "ld.lld" else (found, "-flavor", "gnu")
    raise toolchain_error("X005", f"no ld.lld beside the compiler {program}", root)


def _tree(root: Path, prefix: Path, named: Path | None) -> CkTree:
    tree = ck_tree_in(named.absolute() if named is not None else root)
    if tree is not None:
        return tree
    if named is not None:
        raise toolchain_error("X006", "no CK headers: neither ck/ck.hpp nor ck_tile/core.hpp", named)
    try:
        return pinned_tree(prefix)
    except InputError:
        hint = (
            f"give --ck DIR, install the CK headers of this ROCm, or run `ckgen toolchain amd --prefix {prefix}` first"
        )
        raise toolchain_error(
            "X006", "this ROCm has no CK headers, and no CK tree is prepared", root, hint=hint
        ) from None
