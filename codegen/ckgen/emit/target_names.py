"""Names of CMake targets that a generated library cannot have."""

from __future__ import annotations

_RESERVED = frozenset({
    "ALL_BUILD", "INSTALL", "PACKAGE", "RUN_TESTS", "ZERO_CHECK", "all", "clean", "edit_cache", "help", "install",
    "list_install_components", "package", "package_source", "preinstall", "rebuild_cache", "test",
})  # fmt: skip
"""cmGlobalGenerator::IsReservedTarget, what policy CMP0037 adds to it, and what generators name their own targets."""
_OWN = frozenset(
    {
        "ckgen_dispatcher_objects",
        "ckgen_dispatcher_shared",
        "ckgen_dispatcher_static",
        "ckgen_headers",
        "ckgen_hip_shim",
        "ckgen_host_backend",
    }
)


def why_not_a_target(name: str) -> str | None:
    """Why a C++ identifier cannot be the name of a library's target; None where it can."""
    if name in _RESERVED:
        return "a target of CMake's own"
    return "a target of ckgen's own" if name in _OWN else None
